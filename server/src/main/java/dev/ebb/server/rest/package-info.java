/** REST v1, as docs/api.md has it. */
@NullMarked
package dev.ebb.server.rest;

import org.jspecify.annotations.NullMarked;
