package dev.ebb.server.rest;

import dev.ebb.server.pressure.BaselineWatch;
import java.lang.module.FindException;
import java.lang.module.ModuleFinder;
import java.lang.module.ResolutionException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;

/**
 * The jars of MCP as a layer of modules above the daemon's own. They lie beside the server's, off
 * the module path: the JVM does not look at them when it starts.
 */
final class McpLayer {
  private static final String MODULE = "dev.ebb.mcp";

  /** What it may use of the server. */
  private static final List<String> SHOWN =
      List.of(
          "dev.ebb.server.access",
          "dev.ebb.server.boxes",
          "dev.ebb.server.code",
          "dev.ebb.server.rest");

  private McpLayer() {}

  static McpDoor open(McpDoor.House house, BaselineWatch baseline) {
    Module server = McpLayer.class.getModule();
    ModuleLayer layer = layer(directory());
    // A jar stays open as long as anything of it may be loaded.
    baseline.expect("descriptor regular", layer.modules().size());
    Module mcp = layer.findModule(MODULE).orElseThrow();
    // An export to a module that was not there when the server's layer was made is forgotten.
    SHOWN.forEach(name -> server.addExports(name, mcp));
    return ServiceLoader.load(layer, McpDoor.Opening.class).findFirst().orElseThrow().open(house);
  }

  private static ModuleLayer layer(Path jars) {
    ModuleLayer below = ModuleLayer.boot();
    try {
      var modules =
          below.configuration().resolve(ModuleFinder.of(jars), ModuleFinder.of(), Set.of(MODULE));
      return below.defineModulesWithOneLoader(modules, McpLayer.class.getClassLoader());
    } catch (FindException | ResolutionException e) {
      throw new Problem(
          Problem.Code.UNSUPPORTED, "MCP cannot be loaded from " + jars + ": " + e.getMessage());
    }
  }

  /** Beside the directory with the server's own jar. */
  private static Path directory() {
    try {
      var here = McpLayer.class.getProtectionDomain().getCodeSource().getLocation();
      return Path.of(here.toURI()).resolveSibling("../mcp").normalize();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
