package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.EndedExec;
import dev.ebb.exec.Exec;
import dev.ebb.exec.Segment;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class EndedBoxTest {
  /** All types of ours that an object of this type can hold. */
  private static Set<Class<?>> reachable(Type from) {
    var seen = new HashSet<Class<?>>();
    walk(from, seen);
    return seen;
  }

  private static void walk(Type type, Set<Class<?>> seen) {
    switch (type) {
      case ParameterizedType generic -> {
        walk(generic.getRawType(), seen);
        for (Type each : generic.getActualTypeArguments()) {
          walk(each, seen);
        }
      }
      case Class<?> plain when plain.getName().startsWith("dev.ebb.") && seen.add(plain) -> {
        for (Field field : plain.getDeclaredFields()) {
          if (!Modifier.isStatic(field.getModifiers())) {
            walk(field.getGenericType(), seen);
          }
        }
      }
      default -> {}
    }
  }

  @Test
  void nothingInTheHistoryLeadsToALivingObject() throws Exception {
    Type history = BoxList.class.getDeclaredField("ended").getGenericType();
    assertThat(reachable(history))
        .contains(BoxList.Ended.class, EndedBox.class, EndedExec.class, Segment.class)
        .doesNotContain(Box.class, Exec.class, TenantBox.class, TenantExec.class, Engine.class);
    assertThat(EndedBox.class.isRecord()).isTrue();
    assertThat(EndedExec.class.isRecord()).isTrue();
  }

  @Test
  void aLivingObjectWouldBeSeen() throws Exception {
    Type list = BoxList.class.getDeclaredField("all").getGenericType();
    assertThat(reachable(list)).contains(TenantBox.class, Box.class, Engine.class);
  }
}
