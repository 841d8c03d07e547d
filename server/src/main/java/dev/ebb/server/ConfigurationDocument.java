package dev.ebb.server;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;

/** Prints a configuration as JSON. */
final class ConfigurationDocument {
  private ConfigurationDocument() {}

  static String json(Configuration configuration) {
    JsonObject document = JsonObject.empty().with("home", configuration.home().toString());
    for (var setting : configuration.values().entrySet()) {
      var value = setting.getValue();
      document =
          document.with(
              setting.getKey().wireName(),
              JsonObject.empty().with("value", value.text()).with("origin", value.origin()));
    }
    return Json.write(document);
  }
}
