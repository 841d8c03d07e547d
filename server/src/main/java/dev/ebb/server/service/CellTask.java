package dev.ebb.server.service;

import dev.ebb.code.NewFile;
import dev.ebb.model.CellOrder;
import dev.ebb.model.Glob;
import java.util.List;

/**
 * Code for an interpreter that keeps its state.
 *
 * @param files written before the code runs
 * @param outputs globs for the written files to return with their content
 */
public record CellTask(CellOrder cell, List<NewFile> files, List<Glob> outputs) {
  public CellTask {
    files = List.copyOf(files);
    outputs = List.copyOf(outputs);
  }
}
