package dev.ebb.engine;

import dev.ebb.code.Written;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExitCause;
import java.util.Optional;

/**
 * The result of code in a box of its own, with the certificate of that box.
 *
 * @param outcome {@code ok}, {@code failed}, {@code compile-error}, or how else its command ended
 * @param cause of the command that ended last: the program, or its compiler
 * @param written the files that the program wrote; empty: it never ran
 */
public record CodeAnswer(
    String outcome,
    ExitCause cause,
    CapturedOutput stdout,
    CapturedOutput stderr,
    Optional<Written> written,
    Certificate certificate) {}
