/**
 * The schemas of JSON documents: one declaration both writes a document and describes it in JSON
 * Schema, so the two cannot differ. Uses no other package of Ebb; everything except {@link
 * dev.ebb.server.schema.Components} is immutable.
 */
@NullMarked
package dev.ebb.server.schema;

import org.jspecify.annotations.NullMarked;
