import com.fasterxml.jackson.databind.DeserializationFeature;
import java.nio.file.Files;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DefaultApi;
import org.openapitools.client.model.*;

/** The calls of the README, by a generated client: URL KEY. */
public class Call {
  static void expect(Object found, Object wanted) {
    if (!wanted.equals(found)) {
      throw new AssertionError(found + " is not " + wanted);
    }
  }

  public static void main(String[] args) throws Exception {
    var client = new ApiClient();
    client.updateBaseUri(args[0]);
    // The two answers of runCode are told apart by their properties.
    client.setObjectMapper(
        ApiClient.createDefaultObjectMapper()
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + args[1]));
    var ebb = new DefaultApi(client);
    var command = List.of("python3", "-c", "print(6*7)");
    RunResult ran =
        ebb.run(new RunRequest().exec(new ExecRequest().command(command)), null, "wait");
    expect(ran.getExitCode(), 0);
    expect(ran.getStdout().getText(), "42\n");
    expect(ran.getCertificate().getClean(), true);
    var code = ebb.runCode(new CodeRequest().language("python").code("print(6*7)"), null);
    expect(((CodeResult) code.getActualInstance()).getStdout().getText(), "42\n");
    Box box = ebb.createBox(null, new BoxRequest().name("generated"));
    expect(ebb.getBox("generated").getId(), box.getId());
    Result done =
        ebb.startExec("generated", new ExecRequest().command(command), true, null);
    expect(done.getStdout().getText(), "42\n");
    var raw = ebb.readOutput("generated", done.getNumber(), null, null, null, null, null, null, null);
    expect(Files.readString(raw.toPath()), "42\n");
    expect(ebb.removeBox("generated", true, null).getCertificate().getClean(), true);
    try {
      ebb.getBox("generated");
      throw new AssertionError("it is gone");
    } catch (ApiException e) {
      expect(e.getCode(), 404);
    }
    System.out.println("called");
  }
}
