package dev.ebb.server.rest;

import dev.ebb.model.StallTimes;
import dev.ebb.server.service.Inventory;
import java.util.List;
import java.util.Map;

/** What a box holds and uses, as JSON objects. */
final class InventoryDocuments {
  private InventoryDocuments() {}

  static List<Map<String, Object>> of(List<Inventory.Item> items) {
    return items.stream().map(InventoryDocuments::item).toList();
  }

  private static Map<String, Object> item(Inventory.Item item) {
    var document = Documents.object("kind", item.kind(), "subject", item.subject());
    item.detail().ifPresent(detail -> document.put("detail", detail));
    item.process().ifPresent(process -> add(document, process));
    return document;
  }

  private static void add(Map<String, Object> document, Inventory.Member process) {
    document.put("pid", process.pid());
    document.put("parent", process.parent());
    document.put("state", String.valueOf(process.state()));
    process.exec().ifPresent(exec -> document.put("exec", exec));
  }

  static Map<String, Object> usage(Inventory.Usage usage) {
    var document = Documents.usage(usage.used());
    usage
        .occupancy()
        .ifPresent(
            now -> {
              document.put("memoryBytes", now.memoryBytes());
              document.put("processes", now.tasks());
            });
    usage.pressure().ifPresent(shown -> document.put("pressure", pressure(shown)));
    return document;
  }

  private static Map<String, Object> pressure(StallTimes pressure) {
    return Documents.object(
        "cpu", stall(pressure.cpu()),
        "memory", stall(pressure.memory()),
        "io", stall(pressure.io()));
  }

  private static Map<String, Object> stall(StallTimes.Stall stall) {
    return Documents.object("percent", stall.percent(), "totalMillis", stall.total().toMillis());
  }
}
