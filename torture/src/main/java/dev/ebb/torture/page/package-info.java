/** Pages of HTML for reports. */
@NullMarked
package dev.ebb.torture.page;

import org.jspecify.annotations.NullMarked;
