package dev.ebb.init;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.TcpSocket;
import dev.ebb.kernel.UnixSocket;
import dev.ebb.model.ExecKind;
import dev.ebb.model.FirstFile;
import dev.ebb.store.LogDirectory;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.LogCapture;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The channel against a peer that sends what the test wants. */
@LeakChecked
@Timeout(60)
@SuppressWarnings("try") // an end is closed early here to see what that does
class InitChannelTest {
  private static final int SELF = (int) ProcessHandle.current().pid();
  private static final byte[] NONCE = "0123456789abcdef".getBytes(US_ASCII);
  private static final int EXEC = 7;
  private static final Duration FOREVER = Duration.ofHours(1);
  private static final FirstFile FILE = new FirstFile("file", 0644, new byte[1]);

  private final Scope scope = new Scope();
  private final Scope peerEnd = new Scope();
  private final LogCapture log = new LogCapture(InitChannel.class);
  private final Recorder events = new Recorder();
  private Poller poller;
  private UnixSocket peer;
  private InitChannel channel;

  /** Records the events of an exec. */
  private static final class Recorder implements ExecEvents {
    private final List<String> told = new CopyOnWriteArrayList<>();

    @Override
    public void started(int pidInside, int subreaper) {
      told.add("started " + pidInside + " " + subreaper);
    }

    @Override
    public void refused(Step step, int errno) {
      told.add("refused " + step + " " + errno);
    }

    @Override
    public void buffered(byte[] stdout, byte[] stderr) {
      told.add("buffered " + stdout.length + " " + stderr.length);
    }

    @Override
    public void needLog() {
      told.add("needLog");
    }

    @Override
    public void output(long stdout, long stderr) {
      told.add("output " + stdout + " " + stderr);
    }

    @Override
    public void segment(Written written) {
      told.add("segment " + written.stdoutSize() + " " + written.stderrSize());
    }

    @Override
    public void listed(byte[] entries) {
      told.add("listed " + new String(entries, US_ASCII));
    }

    @Override
    public void ended(Ended ended) {
      told.add("ended " + ended.reason() + " " + ended.status());
    }

    @Override
    public void lost() {
      told.add("lost");
    }

    @Override
    public void unknown() {
      told.add("unknown");
    }

    void await(String... expected) {
      soon().untilAsserted(() -> assertThat(told).containsExactly(expected));
    }
  }

  @BeforeEach
  void open() throws KernelException {
    poller = Poller.start(scope, "channel-poller");
    connect();
  }

  private void connect() throws KernelException {
    var pair = pair(scope, peerEnd);
    peer = UnixSocket.of(pair.peer());
    channel = InitChannel.open(scope, poller, pair.ours(), NONCE);
  }

  private static InitWire.Pair pair(Scope ours, Scope peers) throws KernelException {
    return InitWire.pair(ours, peers, InitChannelTest::closeAtOnce);
  }

  /** Any thread may close the descriptors that these tests send. */
  private static void closeAtOnce(Fd socket, Runnable close) {
    assertThat(socket.toString()).contains("control socket");
    close.run();
  }

  @AfterEach
  void close() throws KernelException {
    scope.close();
    peerEnd.close();
    log.close();
  }

  private static ConditionFactory soon() {
    return Awaitility.await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
  }

  // --- the peer ---

  private static byte[] message(int type, int exec, byte[] body) {
    return Protocol.buffer(Protocol.HEADER_SIZE + body.length)
        .putInt(body.length)
        .putShort((short) type)
        .putShort((short) 0)
        .putInt(exec)
        .putInt(0)
        .put(body)
        .array();
  }

  private static byte[] ints(int... values) {
    byte[] body = new byte[4 * values.length];
    ByteBuffer.wrap(body).order(ByteOrder.nativeOrder()).asIntBuffer().put(values);
    return body;
  }

  private static byte[] hello(int version, byte[] nonce) {
    byte[] body = Protocol.buffer(4 + Protocol.NONCE_SIZE).putInt(version).put(nonce).array();
    return message(Protocol.MESSAGE_HELLO, 0, body);
  }

  private static byte[] hello() {
    return hello(Protocol.PROTOCOL_VERSION, NONCE);
  }

  private static byte[] launched() {
    return message(Protocol.MESSAGE_LAUNCHED, 0, ints(SELF));
  }

  private static byte[] output(int stdout, int stderr) {
    byte[] body = Protocol.buffer(24).putLong(stdout).putLong(stderr).array();
    return message(Protocol.MESSAGE_OUTPUT, EXEC, body);
  }

  private static byte[] ended(int status) {
    byte[] body =
        Protocol.buffer(96)
            .putInt(Protocol.END_BY_ITSELF)
            .putInt(0)
            .putInt(1)
            .putInt(status)
            .putLong(0)
            .putLong(0)
            .putInt(0)
            .putInt(0)
            .putLong(0)
            .putLong(0)
            .putInt(0)
            .putInt(0)
            .array();
    return message(Protocol.MESSAGE_ENDED, EXEC, body);
  }

  /** Says all of it, in as many pieces as the socket has room for. */
  private void say(byte[] bytes) {
    var said = new AtomicInteger();
    soon()
        .until(
            () -> {
              int at = said.get();
              int n = peer.send(bytes, at, bytes.length - at, List.of());
              return said.addAndGet(Math.max(0, n)) == bytes.length;
            });
  }

  private void sayLaunched() throws KernelException {
    try (var passing = new Scope()) {
      byte[] message = launched();
      peer.send(message, 0, message.length, List.of(Pidfd.open(passing, SELF).fd()));
    }
  }

  /** Returns what the peer receives until it has {@code size} bytes or sees the end. */
  private byte[] hear(int size) {
    var heard = new ByteArrayOutputStream();
    byte[] buffer = new byte[1 << 16];
    soon()
        .until(
            () -> {
              int n = peer.receive(peerEnd, buffer).bytes();
              while (n > 0) {
                heard.write(buffer, 0, n);
                n = heard.size() < size ? peer.receive(peerEnd, buffer).bytes() : -1;
              }
              return n == 0 || heard.size() >= size;
            });
    return heard.toByteArray();
  }

  /** Returns when the other end is closed. */
  private byte[] hearTheEnd() {
    return hear(Integer.MAX_VALUE);
  }

  // --- our end ---

  private void start() throws KernelException {
    start(ExecKind.COMMAND);
  }

  private void start(ExecKind kind) throws KernelException {
    channel.start(EXEC, TestRequest.of(kind, "true"), List.of(), events);
  }

  private boolean isUp() throws InterruptedException {
    return channel.awaitHello(Deadline.in(Duration.ofSeconds(10))).isPresent();
  }

  /** The channel is broken, reports that once, and closes, which ends the box. */
  private void assertBroken(String reason) throws Exception {
    hearTheEnd();
    soon().until(() -> !log.lines().isEmpty());
    assertThat(log.lines())
        .singleElement()
        .asString()
        .startsWith("SEVERE event=channel_broken")
        .contains(reason);
    assertThat(channel.awaitHello(Deadline.in(Duration.ofSeconds(10)))).isEmpty();
    assertThatThrownBy(() -> channel.kill(EXEC, Signal.TERM, Duration.ZERO))
        .isInstanceOf(KernelException.class);
  }

  // --- set-up ---

  @Test
  void theNonceComesFirst() {
    assertThat(hear(NONCE.length)).isEqualTo(NONCE);
  }

  @Test
  void aBoxIsUpWhenItWasLaunchedAndSaidHello() throws Exception {
    sayLaunched();
    assertThat(channel.awaitHello(Deadline.in(Duration.ofMillis(5)))).isEmpty();
    say(hello());
    assertThat(isUp()).isTrue();
    assertThat(channel.init().orElseThrow().pid()).isEqualTo(SELF);
  }

  @Test
  void helloMayComeBeforeLaunched() throws Exception {
    say(hello());
    assertThat(channel.awaitHello(Deadline.in(Duration.ofMillis(5)))).isEmpty();
    sayLaunched();
    assertThat(isUp()).isTrue();
  }

  /** Simulates a time in which the engine did not run. */
  @Test
  void messagesSentInTimeCountHoweverLateThePollerIs() throws Exception {
    var isLate = new CountDownLatch(1);
    var gate = new CompletableFuture<Boolean>();
    try {
      poller.execute(
          () -> {
            isLate.countDown();
            gate.join();
          });
      assertThat(isLate.await(10, TimeUnit.SECONDS)).isTrue();
      sayLaunched();
      say(hello());
      var isUp = new FutureTask<>(() -> channel.awaitHello(Deadline.in(Duration.ZERO)).isPresent());
      Thread waiter = Thread.ofPlatform().start(isUp);
      soon().until(() -> isUp.isDone() || waiter.getState() == Thread.State.TIMED_WAITING);
      gate.complete(true);
      assertThat(isUp.get(10, TimeUnit.SECONDS)).isTrue();
    } finally {
      gate.complete(true);
    }
  }

  @Test
  void anEndDuringSetUpIsNoHello() throws Exception {
    sayLaunched();
    peerEnd.close();
    assertThat(channel.awaitHello(Deadline.in(Duration.ofSeconds(10)))).isEmpty();
    assertThat(log.lines()).isEmpty();
  }

  /** Its init has been ordered to end, so it would be lost at once. */
  @Test
  void aBoxAnnouncedAfterItsMakerWasLostIsNotUp() throws Exception {
    channel.forsakeUnlessAnnounced();
    sayLaunched();
    say(hello());
    soon().until(() -> channel.init().isPresent());
    peerEnd.close();
    assertThat(channel.awaitHello(Deadline.in(Duration.ofSeconds(10)))).isEmpty();
  }

  @Test
  void aBoxAnnouncedBeforeItsMakerWasLostIsUp() throws Exception {
    sayLaunched();
    soon().until(() -> channel.init().isPresent());
    channel.forsakeUnlessAnnounced();
    say(hello());
    assertThat(isUp()).isTrue();
  }

  // --- what init does by itself ---

  private void greet() throws Exception {
    sayLaunched();
    say(hello());
    assertThat(isUp()).isTrue();
    assertThat(hear(NONCE.length)).isEqualTo(NONCE);
  }

  private static byte[] listed(int errno, String entries) {
    return message(Protocol.MESSAGE_LISTED, 0, report(errno, entries));
  }

  private static byte[] report(int errno, String entries) {
    byte[] text = entries.getBytes(US_ASCII);
    return Protocol.buffer(Integer.BYTES + text.length).putInt(errno).put(text).array();
  }

  private Optional<byte[]> list() throws Exception {
    return channel.queries().list(Deadline.in(FOREVER));
  }

  private Optional<byte[]> listAndHear(byte[] answer) throws Exception {
    var asked = new FutureTask<>(this::list);
    Thread.ofVirtual().start(asked);
    assertThat(hear(Protocol.HEADER_SIZE)).isEqualTo(Protocol.list());
    say(answer);
    return asked.get();
  }

  private void assertNothingIsAsked() throws Exception {
    assertThat(list()).isEmpty();
    assertThat(channel.queries().writeFile(FILE, Deadline.in(FOREVER))).isEmpty();
    assertThat(peer.receive(peerEnd, new byte[1]).bytes()).isNegative();
  }

  @Test
  void whatInitSeesIsHandedOn() throws Exception {
    greet();
    assertThat(listAndHear(listed(0, "a"))).contains(new byte[] {'a'});
    assertThat(listAndHear(listed(Errno.E2BIG.number(), ""))).isEmpty();
    assertThat(listAndHear(listed(0, ""))).contains(new byte[0]);
  }

  @Test
  void anAnswerThatComesLateIsToNoOtherQuestion() throws Exception {
    greet();
    assertThat(channel.queries().list(Deadline.in(Duration.ZERO))).isEmpty();
    assertThat(hear(Protocol.HEADER_SIZE)).isEqualTo(Protocol.list());
    say(listed(0, "outdated"));
    assertNothingIsAsked();
  }

  @Test
  void aSocketThatComesLateDoesNoHarm() throws Exception {
    greet();
    byte[] listen = Protocol.listen(1);
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> channel.queries().listen(1, Deadline.in(Duration.ZERO)))
          .hasMessageContaining("in time");
      assertThat(hear(listen.length)).isEqualTo(listen);
    }
    var asked = new FutureTask<>(() -> channel.queries().listen(1, Deadline.in(FOREVER)));
    Thread.ofVirtual().start(asked);
    assertThat(hear(listen.length)).isEqualTo(listen);
    var late = ForeignProcess.listener(scope);
    var inTime = ForeignProcess.listener(scope);
    sayListening(late.fd());
    say(message(Protocol.MESSAGE_LISTENING, 0, ints(Errno.EADDRINUSE.number())));
    sayListening(inTime.fd());
    try (var _ = new Socket(InetAddress.getLoopbackAddress(), inTime.port())) {
      assertThat(TcpSocket.accept(scope, asked.get())).isPresent();
    }
    assertThat(isUp()).isTrue();
  }

  private void sayListening(Fd socket) throws KernelException {
    byte[] message = message(Protocol.MESSAGE_LISTENING, 0, ints(0));
    peer.send(message, 0, message.length, List.of(socket));
  }

  @Test
  void theInventoryIsTakenBeforeAFileIsWritten() throws Exception {
    greet();
    var asked =
        new FutureTask<>(() -> channel.queries().inventoryThenWrite(FILE, Deadline.in(FOREVER)));
    Thread.ofVirtual().start(asked);
    byte[] write = Protocol.writeFile(FILE.name(), FILE.mode(), FILE.content());
    byte[] both = hear(Protocol.HEADER_SIZE + write.length);
    assertThat(Arrays.copyOf(both, Protocol.HEADER_SIZE)).isEqualTo(Protocol.inventory());
    assertThat(Arrays.copyOfRange(both, Protocol.HEADER_SIZE, both.length)).isEqualTo(write);
    byte[] contents = Protocol.buffer(24).putInt(1).putInt(2).putLong(3).putLong(4).array();
    say(message(Protocol.MESSAGE_CONTENTS, 0, contents));
    say(message(Protocol.MESSAGE_FILE_WRITTEN, 0, report(0, "entry")));
    Inventory inventory = asked.get().orElseThrow();
    assertThat(inventory.contents()).isEqualTo(new BoxContents(1, 2, 3, 4));
    assertThat(inventory.written()).contains("entry".getBytes(US_ASCII));
  }

  @Test
  void aFileThatIsTooLongIsNotWrittenButTheInventoryIsTaken() throws Exception {
    greet();
    var file = new FirstFile("long", 0644, new byte[Protocol.WRITE_FILE_MAX + 1]);
    var asked =
        new FutureTask<>(() -> channel.queries().inventoryThenWrite(file, Deadline.in(FOREVER)));
    Thread.ofVirtual().start(asked);
    assertThat(hear(Protocol.HEADER_SIZE)).isEqualTo(Protocol.inventory());
    say(message(Protocol.MESSAGE_CONTENTS, 0, new byte[24]));
    assertThat(asked.get().orElseThrow().written()).isEmpty();
  }

  /** Returns the flags of the first START that the peer receives. */
  private int startFlags() {
    byte[] message = hear(Protocol.HEADER_SIZE);
    return ByteBuffer.wrap(message)
        .order(ByteOrder.nativeOrder())
        .getInt(Protocol.HEADER_SIZE + 8 * Long.BYTES);
  }

  @Test
  void aProgramIsReportedWithTheFilesItLeaves() throws Exception {
    greet();
    start(new ExecKind.Program());
    assertThat(startFlags()).isEqualTo(Protocol.START_HAS_LEAF | Protocol.START_LIST);
    say(message(Protocol.MESSAGE_LISTED, EXEC, report(0, "left")));
    say(ended(0));
    soon().until(() -> events.told.contains("ended BY_ITSELF 0"));
    assertThat(events.told).containsSequence("listed left", "ended BY_ITSELF 0");
  }

  @Test
  void aListingThatFailedOrIsOfAnotherExecIsNotReported() throws Exception {
    greet();
    start(new ExecKind.Program());
    say(message(Protocol.MESSAGE_LISTED, EXEC, report(Errno.E2BIG.number(), "")));
    say(message(Protocol.MESSAGE_LISTED, EXEC + 1, report(0, "another")));
    say(ended(0));
    soon().until(() -> events.told.contains("ended BY_ITSELF 0"));
    assertThat(events.told).noneMatch(word -> word.startsWith("listed"));
  }

  private void assertLost(String reason) {
    hearTheEnd();
    soon().until(() -> events.told.contains("lost"));
    assertThat(log.lines()).singleElement().asString().contains(reason);
  }

  @Test
  void moreThanAReportHoldsIsNotUnderstood() throws Exception {
    greet();
    start(new ExecKind.Program());
    say(message(Protocol.MESSAGE_LISTED, EXEC, report(0, "x".repeat(Protocol.REPORT_MAX + 1))));
    assertLost("cannot understand a report of " + (Protocol.REPORT_MAX + 1));
  }

  @Test
  void noExecWritesAFile() throws Exception {
    greet();
    start(new ExecKind.Program());
    say(message(Protocol.MESSAGE_FILE_WRITTEN, EXEC, report(0, "left")));
    assertLost("cannot understand a report of 4");
  }

  @Test
  void aWrongNonceIsNotTrusted() throws Exception {
    sayLaunched();
    say(hello(Protocol.PROTOCOL_VERSION, new byte[Protocol.NONCE_SIZE]));
    assertBroken(
        "cannot trust hello of version "
            + Protocol.PROTOCOL_VERSION
            + " with nonce 00000000000000000000000000000000");
  }

  @ParameterizedTest
  @ValueSource(ints = {Protocol.PROTOCOL_VERSION - 1, Protocol.PROTOCOL_VERSION + 1, 0})
  void anotherVersionIsNotTrusted(int version) throws Exception {
    sayLaunched();
    say(hello(version, NONCE));
    assertBroken("cannot trust hello of version " + version + " with nonce 3031");
  }

  @Test
  void launchedWithoutItsPidfdIsRefused() throws Exception {
    say(launched());
    assertBroken("cannot find the pidfd");
  }

  @Test
  void aSecondInitIsRefused() throws Exception {
    sayLaunched();
    say(hello());
    assertThat(isUp()).isTrue();
    sayLaunched();
    hearTheEnd();
    assertThat(log.lines()).singleElement().asString().contains("event=channel_broken");
    assertThat(channel.init().orElseThrow().pid()).isEqualTo(SELF);
  }

  @Test
  void unrequestedDescriptorsBreakIt() throws Exception {
    try (var passing = new Scope()) {
      Fd nothing = Fd.open(passing, Path.of("/dev/null"), Fd.Flag.READ);
      byte[] message = launched();
      peer.send(message, 0, message.length, List.of(nothing, nothing, nothing));
    }
    assertBroken("cannot take more descriptors from a box");
  }

  // --- messages ---

  @Test
  void theLifeOfAnExecIsReportedInOrder() throws Exception {
    greet();
    start();
    say(message(Protocol.MESSAGE_STARTED, EXEC, ints(9, 2)));
    say(output(5, 0));
    say(output(5, 6));
    say(ended(3));
    events.await("started 9 2", "output 5 0", "output 5 6", "ended BY_ITSELF 3");
  }

  @Test
  void messagesMayArriveByteByByte() throws Exception {
    greet();
    start();
    for (byte[] message : List.of(output(1, 2), ended(4))) {
      for (int i = 0; i < message.length; i++) {
        assertThat(peer.send(message, i, 1, List.of())).isEqualTo(1);
      }
    }
    events.await("output 1 2", "ended BY_ITSELF 4");
  }

  @Test
  void manyMessagesMayArriveAtOnce() throws Exception {
    start();
    var all = new ByteArrayOutputStream();
    var expected = new ArrayList<String>();
    for (int i = 0; i < 3000; i++) {
      all.writeBytes(output(i, 0));
      expected.add("output " + i + " 0");
    }
    say(all.toByteArray());
    events.await(expected.toArray(String[]::new));
  }

  @Test
  void aLongMessageMayArriveInManyPieces() throws Exception {
    start();
    byte[] body = new byte[300_000];
    ByteBuffer.wrap(body).order(ByteOrder.nativeOrder()).putInt(9).putInt(2);
    byte[] message = message(Protocol.MESSAGE_STARTED, EXEC, body);
    for (int done = 0; done < message.length; ) {
      int n = peer.send(message, done, Math.min(10_000, message.length - done), List.of());
      done += Math.max(0, n);
    }
    events.await("started 9 2");
  }

  @Test
  void whatIsSaidOfAnUnknownExecIsIgnored() throws Exception {
    start();
    say(message(Protocol.MESSAGE_STARTED, EXEC + 1, ints(9, 2)));
    say(message(Protocol.MESSAGE_REFUSED, EXEC + 1, ints(1, 2)));
    say(output(2, 2));
    events.await("output 2 2");
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void theLastWordIsSaidOnce() throws Exception {
    start();
    say(message(Protocol.MESSAGE_REFUSED, EXEC, ints(Protocol.STEP_EXEC, 2)));
    say(output(1, 1));
    say(ended(0));
    peerEnd.close();
    hearNothingMore();
    events.await("refused EXEC 2");
  }

  /** Everything that was sent has been dispatched. */
  private void hearNothingMore() throws InterruptedException {
    assertThat(channel.awaitHello(Deadline.in(Duration.ofSeconds(10)))).isEmpty();
  }

  @Test
  void anExecIsLostWithItsInit() throws Exception {
    start();
    say(output(1, 0));
    peerEnd.close();
    events.await("output 1 0", "lost");
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void anEndInTheMiddleOfAMessageIsAnEnd() throws Exception {
    start();
    byte[] message = ended(0);
    peer.send(message, 0, message.length - 1, List.of());
    peerEnd.close();
    events.await("lost");
  }

  // --- garbage ---

  @ParameterizedTest
  @ValueSource(ints = {0, 4, 16, 17, 36, -1, Short.MAX_VALUE})
  void anUnknownTypeBreaksIt(int type) throws Exception {
    start();
    say(message(type, EXEC, ints(0, 0, 0, 0)));
    events.await("lost");
    assertBroken("cannot understand message type " + type);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, Integer.MIN_VALUE, Protocol.MESSAGE_MAX + 1, Integer.MAX_VALUE})
  void anImpossibleSizeBreaksItAtOnce(int size) throws Exception {
    start();
    byte[] message = output(1, 1);
    ByteBuffer.wrap(message).order(ByteOrder.nativeOrder()).putInt(0, size);
    say(message);
    events.await("lost");
    assertBroken("cannot understand a message of " + size + " bytes");
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        Protocol.MESSAGE_LAUNCHED,
        Protocol.MESSAGE_HELLO,
        Protocol.MESSAGE_STARTED,
        Protocol.MESSAGE_REFUSED,
        Protocol.MESSAGE_OUTPUT,
        Protocol.MESSAGE_ENDED
      })
  void aBodyThatIsTooShortBreaksIt(int type) throws Exception {
    start();
    say(message(type, EXEC, new byte[3]));
    events.await("lost");
    assertBroken("BufferUnderflow");
  }

  private static byte[] told(int stdout, int stderr, int stdoutTold, int stderrTold, String bytes) {
    byte[] text = bytes.getBytes(US_ASCII);
    byte[] body =
        Protocol.buffer(24 + text.length)
            .putLong(stdout)
            .putLong(stderr)
            .putInt(stdoutTold)
            .putInt(stderrTold)
            .put(text)
            .array();
    return message(Protocol.MESSAGE_OUTPUT, EXEC, body);
  }

  @Test
  void whatIsBufferedComesBeforeItsCount() throws Exception {
    start();
    say(told(3, 2, 3, 2, "outer"));
    say(told(3, 2, 0, 0, ""));
    say(message(Protocol.MESSAGE_NEED_LOG, EXEC, new byte[0]));
    events.await("buffered 3 2", "output 3 2", "output 3 2", "needLog");
  }

  @Test
  void bytesThatWereNotAnnouncedBreakIt() throws Exception {
    start();
    say(told(3, 2, 3, 1, "outer"));
    events.await("lost");
    assertBroken("init sent 3 and 1 bytes");
  }

  @Test
  void logsAreGivenOrRefused() throws Exception {
    try (var files = new Scope()) {
      channel.giveLogs(EXEC, Fd.memory(files, "stdout"), Fd.memory(files, "stderr"));
    }
    channel.refuseLogs(EXEC, 28);
    byte[] heard = hear(Protocol.NONCE_SIZE + 2 * (Protocol.HEADER_SIZE + 4));
    var words = ByteBuffer.wrap(heard).order(ByteOrder.nativeOrder());
    words.position(Protocol.NONCE_SIZE);
    for (int errno : new int[] {0, 28}) {
      assertThat(words.getInt()).isEqualTo(4);
      assertThat(words.getShort()).isEqualTo((short) Protocol.MESSAGE_LOG_FDS);
      assertThat(words.getShort()).isEqualTo((short) (errno == 0 ? 2 : 0));
      assertThat(words.getInt()).isEqualTo(EXEC);
      assertThat(words.getInt()).isZero();
      assertThat(words.getInt()).isEqualTo(errno);
    }
  }

  @Test
  void anUnknownStepOrReasonBreaksIt() throws Exception {
    start();
    say(message(Protocol.MESSAGE_REFUSED, EXEC, ints(99, 2)));
    events.await("lost");
    assertBroken("init named step 99");
  }

  @Test
  void anyGarbageEndsInOneLastWord() throws Exception {
    var random = new Random(42);
    for (int round = 0; round < 300; round++) {
      try (var brief = new Scope();
          var briefPeer = new Scope()) {
        var pair = pair(brief, briefPeer);
        var garbage = InitChannel.open(brief, poller, pair.ours(), NONCE);
        var recorder = new Recorder();
        garbage.start(EXEC, TestRequest.of("true"), List.of(), recorder);
        byte[] bytes = new byte[100 + random.nextInt(100)];
        random.nextBytes(bytes);
        if (random.nextBoolean()) {
          // A plausible header, so that the body is looked at.
          ByteBuffer.wrap(bytes)
              .order(ByteOrder.nativeOrder())
              .putInt(random.nextInt(84))
              .putShort((short) (31 + random.nextInt(6)))
              .putShort((short) 0)
              .putInt(EXEC);
        }
        UnixSocket.of(pair.peer()).send(bytes, 0, bytes.length, List.of());
        briefPeer.close();
        soon().until(() -> recorder.told.stream().anyMatch(InitChannelTest::isLast));
        assertThat(recorder.told).filteredOn(InitChannelTest::isLast).hasSize(1);
        assertThat(recorder.told.getLast()).matches(InitChannelTest::isLast);
      }
    }
  }

  private static boolean isLast(String word) {
    return word.equals("lost") || word.startsWith("ended") || word.startsWith("refused");
  }

  // --- requests ---

  @Test
  void aStartCarriesItsDescriptors() throws Exception {
    hear(NONCE.length);
    Fd nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ);
    channel.start(EXEC, TestRequest.of("true"), List.of(nothing, nothing, nothing), events);
    byte[] buffer = new byte[4096];
    var received = peer.receive(peerEnd, buffer);
    assertThat(received.fds()).hasSize(3);
    assertThat(Arrays.copyOf(buffer, received.bytes()))
        .isEqualTo(Protocol.start(EXEC, 3, TestRequest.of("true"), false));
  }

  @Test
  void aRequestLongerThanTheSocketHoldsArrivesWhole() throws Exception {
    hear(NONCE.length);
    String word = "x".repeat(3 << 20);
    byte[] expected = Protocol.start(EXEC, 0, TestRequest.of("echo", word), false);
    Thread sender =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    channel.start(EXEC, TestRequest.of("echo", word), List.of(), events);
                  } catch (KernelException e) {
                    throw new IllegalStateException(e);
                  }
                });
    assertThat(hear(expected.length)).isEqualTo(expected);
    sender.join();
  }

  @Test
  void aRequestThatIsTooLongIsRefusedAndNothingIsSent() throws Exception {
    hear(NONCE.length);
    String word = "x".repeat(Protocol.MESSAGE_MAX);
    assertThatThrownBy(() -> channel.start(EXEC, TestRequest.of("echo", word), List.of(), events))
        .hasMessage("cannot start a command with such long arguments: E2BIG");
    assertThat(peer.receive(peerEnd, new byte[1]).bytes()).isEqualTo(-1);
    assertThat(events.told).isEmpty();
  }

  private void connectImpatiently() throws KernelException {
    var pair = InitWire.pair(scope, peerEnd, InitChannelTest::closeAtOnce, Duration.ofMillis(20));
    peer = UnixSocket.of(pair.peer());
    channel = InitChannel.open(scope, poller, pair.ours(), NONCE);
  }

  /** Init may be slow for a while: that ends neither the talk nor its box. */
  @Test
  void aRequestThatInitTakesLateIsCompletedBeforeTheNext() throws Exception {
    connectImpatiently();
    StartRequest late = TestRequest.of("x".repeat(3 << 20));
    assertThatThrownBy(() -> channel.start(EXEC, late, List.of(), events))
        .hasMessage("cannot send to init in time: EAGAIN");
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> channel.split(EXEC)).hasMessageContaining("in time");
    }
    byte[] expected = Protocol.start(EXEC, 0, late, false);
    byte[] next = Protocol.signal(2, Signal.TERM.number());
    var said = new FutureTask<>(() -> sayUntilHeard());
    Thread.ofVirtual().start(said);
    byte[] heard = hear(NONCE.length + expected.length + next.length);
    said.get();
    assertThat(Arrays.copyOfRange(heard, NONCE.length, NONCE.length + expected.length))
        .isEqualTo(expected);
    assertThat(Arrays.copyOfRange(heard, NONCE.length + expected.length, heard.length))
        .isEqualTo(next);
    greetAgain();
  }

  private boolean sayUntilHeard() {
    soon()
        .ignoreExceptions()
        .until(
            () -> {
              channel.signal(2, Signal.TERM);
              return true;
            });
    return true;
  }

  private void greetAgain() throws Exception {
    sayLaunched();
    say(hello());
    assertThat(isUp()).isTrue();
    assertThat(events.told).isEmpty();
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void aCommandThatInitStartsTooLateIsEnded() throws Exception {
    connectImpatiently();
    StartRequest late = TestRequest.of("x".repeat(3 << 20));
    assertThatThrownBy(() -> channel.start(EXEC, late, List.of(), events))
        .hasMessageContaining("in time");
    byte[] expected = Protocol.start(EXEC, 0, late, false);
    byte[] next = Protocol.signal(2, Signal.TERM.number());
    byte[] kill = Protocol.kill(EXEC, Signal.KILL.number(), Duration.ZERO);
    Thread.ofVirtual().start(this::sayUntilHeard);
    hear(NONCE.length + expected.length + next.length);
    say(message(Protocol.MESSAGE_STARTED, EXEC, ints(9, 2)));
    assertThat(hear(kill.length)).isEqualTo(kill);
    greetAgain();
  }

  @Test
  void aStartOnAClosedChannelThrows() throws Exception {
    peerEnd.close();
    hearNothingMore();
    assertThatThrownBy(this::start).isInstanceOf(KernelException.class);
    assertThat(events.told).isEmpty();
  }

  // --- a later line ---

  /** Greets an init that is connected and sends nothing. */
  private InitChannel reconnect(Path directory) throws KernelException {
    Fd place = Fd.open(scope, directory, Fd.Flag.READ, Fd.Flag.DIRECTORY);
    UnixSocket.listen(peerEnd, place, LogDirectory.CONTROL);
    return InitChannel.reconnect(
        scope, poller, InitChannelTest::closeAtOnce, place, NONCE, Pidfd.open(scope, SELF));
  }

  @Test
  void aGreetingThatIsCalledOffIsOverAtOnce(@TempDir Path directory) throws Exception {
    InitChannel silent = reconnect(directory);
    var callOff = new CallOff();
    var greeting = new FutureTask<>(() -> silent.greet(Deadline.in(FOREVER), callOff));
    Thread greeter = Thread.ofPlatform().name("greeter").start(greeting);
    soon().until(() -> greeter.getState() == Thread.State.TIMED_WAITING);
    callOff.call();
    assertThat(greeting.get()).isFalse();
    greeter.join();
  }

  @Test
  void aGreetingThatWasCalledOffBeforeIsOverAtOnce(@TempDir Path directory) throws Exception {
    var callOff = new CallOff();
    callOff.call();
    assertThat(reconnect(directory).greet(Deadline.in(FOREVER), callOff)).isFalse();
  }

  // --- release ---

  @Test
  void closingOurEndIsTheEndForBoth() throws Exception {
    start();
    scope.close();
    events.await("lost");
    hearTheEnd();
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void aBoxReleasedWhileItsInitSpeaksIsNoError() throws Exception {
    for (int round = 0; round < 300; round++) {
      try (var brief = new Scope();
          var briefPeer = new Scope()) {
        var pair = pair(brief, briefPeer);
        var spoken = InitChannel.open(brief, poller, pair.ours(), NONCE);
        var recorder = new Recorder();
        spoken.start(EXEC, TestRequest.of("true"), List.of(), recorder);
        var init = UnixSocket.of(pair.peer());
        Thread speaker =
            Thread.ofPlatform()
                .start(
                    () -> {
                      try (var passing = new Scope()) {
                        byte[] first = launched();
                        init.send(first, 0, first.length, List.of(Pidfd.open(passing, SELF).fd()));
                        byte[] message = output(1, 1);
                        for (int i = 0; i < 50; i++) {
                          init.send(message, 0, message.length, List.of());
                        }
                      } catch (KernelException e) {
                        // No peer listens any more.
                      }
                    });
        brief.close();
        speaker.join();
        assertThat(recorder.told).filteredOn("lost"::equals).hasSize(1);
      }
    }
    assertThat(log.lines()).isEmpty();
  }
}
