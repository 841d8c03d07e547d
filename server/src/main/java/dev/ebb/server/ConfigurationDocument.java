package dev.ebb.server;

import io.avaje.json.mapper.JsonMapper;
import java.util.LinkedHashMap;
import java.util.Map;

/** A configuration for programs. */
final class ConfigurationDocument {
  private ConfigurationDocument() {}

  static String json(Configuration configuration) {
    var document = new LinkedHashMap<String, Object>();
    document.put("home", configuration.home().toString());
    configuration
        .values()
        .forEach(
            (key, value) ->
                document.put(key.word(), Map.of("value", value.text(), "origin", value.origin())));
    return JsonMapper.builder().build().toJson(document);
  }
}
