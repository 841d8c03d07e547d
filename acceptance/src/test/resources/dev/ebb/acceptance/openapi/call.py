"""The calls of the README, by a generated client: URL KEY."""

import sys
import openapi_client as api

def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")

configuration = api.Configuration(host=sys.argv[1], access_token=sys.argv[2])
with api.ApiClient(configuration) as client:
    ebb = api.DefaultApi(client)
    command = ["python3", "-c", "print(6*7)"]
    ran = ebb.run(api.RunRequest(exec=api.ExecRequest(command=command)))
    expect((ran.exit_code, ran.stdout.text, ran.certificate_url), (0, "42\n", "/v1/certificates/" + ran.box))
    code = ebb.run_code(api.CodeRequest(language="python", code="print(6*7)")).actual_instance
    expect((code.outcome, code.stdout.text), ("ok", "42\n"))
    box = ebb.create_box(box_request=api.BoxRequest(name="generated"))
    expect([each.id for each in ebb.list_boxes().boxes], [box.id])
    done = ebb.start_exec("generated", api.ExecRequest(command=command), wait=True)
    expect(done.stdout.text, "42\n")
    ebb.write_file("generated", "/workspace/a.txt", body=b"hello")
    expect(bytes(ebb.read_file("generated", "/workspace/a.txt")), b"hello")
    raw = {"Accept": "application/octet-stream"}
    expect(bytes(ebb.read_output("generated", done.number, _headers=raw)), b"42\n")
    expect(ebb.remove_box("generated", force=True).certificate.clean, True)
    try:
        ebb.get_box("generated")
        raise AssertionError("it is gone")
    except api.exceptions.NotFoundException as e:
        expect(e.data.code, "not-found")
print("called")
