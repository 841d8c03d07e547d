/**
 * What is to be known of a language to run code in it, and of what such a run wrote.
 *
 * <p>May use exec and the layers below. Languages are data, see languages.txt.
 */
@NullMarked
package dev.ebb.code;

import org.jspecify.annotations.NullMarked;
