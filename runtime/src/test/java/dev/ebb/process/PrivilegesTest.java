package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PrivilegesTest {
  private static Privileges with(String effective) {
    // The permitted ones are not ours to use.
    String status =
        "Name:\tjava\nCapPrm:\t000001ffffffffff\nCapEff:\t" + effective + "\nCapBnd:\t0\n";
    return new Privileges(0, Privileges.effective(status), List.of());
  }

  /** Root of a host, docker's fourteen, docker's with SYS_ADMIN, a user, SETUID or SETGID alone. */
  @ParameterizedTest
  @CsvSource({
    "000001ffffffffff, true, true, true",
    "00000000a80425fb, true, false, false",
    "00000000a82425fb, true, true, false",
    "0000000000000000, false, false, false",
    "0000000000000080, false, false, false",
    "0000000000000040, false, false, false",
    "00000000000000c0, true, false, false",
    "ffffffffffffffff, true, true, true"
  })
  void capabilitiesAreTheBitsOfTheEffectiveOnes(
      String effective, boolean changesUser, boolean administers, boolean raisesLimits) {
    var privileges = with(effective);
    assertThat(privileges.canChangeUser()).isEqualTo(changesUser);
    assertThat(privileges.has(Privileges.CAP_SYS_ADMIN)).isEqualTo(administers);
    assertThat(privileges.has(Privileges.CAP_SYS_RESOURCE)).isEqualTo(raisesLimits);
  }

  /** Root of a host, docker's with SYS_ADMIN, with NET_ADMIN too, root of a host less one. */
  @ParameterizedTest
  @CsvSource({
    "000001ffffffffff, true",
    "00000000a82425fb, false",
    "00000000a82435fb, true",
    "000001fffffffffe, false",
    "000001fffffffffd, false"
  })
  void aProcessWithoutACapabilityNeedsAUserNamespaceFirst(String effective, boolean canDoWithout) {
    assertThat(with(effective).canMakeNamespaces()).isEqualTo(canDoWithout);
    assertThat(new Privileges(1000, with(effective).capabilities(), List.of()).canMakeNamespaces())
        .isFalse();
  }

  @Test
  void withoutTheLineThereAreNone() {
    assertThat(Privileges.effective("Name:\tjava\nCapPrm:\t000001ffffffffff\n")).isZero();
  }

  @Test
  void everyRangeOfTheMapCounts() {
    assertThat(Privileges.ranges("         0          0 4294967295\n"))
        .containsExactly(new Privileges.Range(0, 4294967295L));
    assertThat(Privileges.ranges("0 1000 1\n1 100000 65536\n"))
        .containsExactly(new Privileges.Range(0, 1), new Privileges.Range(1, 65536))
        .last()
        .satisfies(range -> assertThat(range.end()).isEqualTo(65537));
    assertThat(Privileges.ranges("")).as("not mapped yet").isEmpty();
  }
}
