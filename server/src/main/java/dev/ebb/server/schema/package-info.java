/**
 * What JSON documents look like: one declaration both writes a document and describes it in JSON
 * Schema, so that the two cannot differ. Uses nothing of Ebb; everything in it is immutable but
 * {@link dev.ebb.server.schema.Components}.
 */
@NullMarked
package dev.ebb.server.schema;

import org.jspecify.annotations.NullMarked;
