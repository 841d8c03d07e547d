/**
 * {@code ebb cp}: files between a box and the host, by a tar that is not trusted. May use {@code
 * output}, {@code caller}, {@code option} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.files;

import org.jspecify.annotations.NullMarked;
