/**
 * How code of each language is run, and which files such a run wrote.
 *
 * <p>May use exec and the layers below. Languages are data, see languages.txt.
 */
@NullMarked
package dev.ebb.code;

import org.jspecify.annotations.NullMarked;
