package dev.ebb.server.http;

import dev.ebb.admission.BaselineWatch;
import java.lang.module.FindException;
import java.lang.module.ModuleFinder;
import java.lang.module.ResolutionException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;

/**
 * Loads the jars of a door as a module layer above the daemon's own. They lie beside the server's,
 * off the module path: the JVM does not look at them when it starts.
 */
final class DoorLayer {
  /** The packages of the server that a door may use. */
  private static final List<String> SHOWN =
      List.of(
          "dev.ebb.server.answer",
          "dev.ebb.server.http",
          "dev.ebb.server.schema",
          "dev.ebb.server.service",
          "dev.ebb.server.service.access");

  private DoorLayer() {}

  static Door open(ModuleDoor.Sign sign, Door.House house, BaselineWatch baseline) {
    Module server = DoorLayer.class.getModule();
    ModuleLayer layer = layer(sign, directory(sign.name()));
    // A jar stays open as long as classes may be loaded from it.
    baseline.expect("descriptor regular", layer.modules().size());
    Module module = layer.findModule(sign.module()).orElseThrow();
    // The JVM forgets an export to a module that did not exist when the server's layer was made.
    SHOWN.forEach(name -> server.addExports(name, module));
    return ServiceLoader.load(layer, Door.Provider.class).stream()
        .filter(provider -> provider.type().getModule() == module)
        .findFirst()
        .orElseThrow()
        .get()
        .open(house);
  }

  private static ModuleLayer layer(ModuleDoor.Sign sign, Path jars) {
    ModuleLayer below = ModuleLayer.boot();
    try {
      var modules =
          below
              .configuration()
              .resolve(ModuleFinder.of(jars), ModuleFinder.of(), Set.of(sign.module()));
      return below.defineModulesWithOneLoader(modules, DoorLayer.class.getClassLoader());
    } catch (FindException | ResolutionException e) {
      throw new Problem(
          Problem.Code.UNSUPPORTED,
          "the door " + sign.name() + " cannot be loaded from " + jars + ": " + e.getMessage());
    }
  }

  /** Returns the directory of a door's jars, beside that of the server's own jar. */
  private static Path directory(String name) {
    try {
      var here = DoorLayer.class.getProtectionDomain().getCodeSource().getLocation();
      return Path.of(here.toURI()).resolveSibling("../" + name).normalize();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
