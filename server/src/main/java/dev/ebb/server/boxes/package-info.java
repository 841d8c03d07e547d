/** The boxes of all tenants: their names, deadlines and history. Knows no protocol. */
@NullMarked
package dev.ebb.server.boxes;

import org.jspecify.annotations.NullMarked;
