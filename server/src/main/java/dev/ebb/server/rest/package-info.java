/** REST v1, see docs/api.md. */
@NullMarked
package dev.ebb.server.rest;

import org.jspecify.annotations.NullMarked;
