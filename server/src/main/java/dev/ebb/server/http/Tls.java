package dev.ebb.server.http;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/** Loads a certificate and its key from PEM files. */
public final class Tls {
  /** A certificate chain and its key, in PEM files. */
  public record PemFiles(Path certificate, Path key) {}

  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
  private static final List<String> ALGORITHMS = List.of("RSA", "EC", "EdDSA");
  private static final char[] IN_MEMORY = {};

  private Tls() {}

  static SslContextFactory.Server context(PemFiles files) {
    try {
      var chain = chain(files.certificate());
      PrivateKey key = key(files.key());
      requirePair(chain[0].getPublicKey(), key);
      var store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      store.setKeyEntry("ebb", key, IN_MEMORY, chain);
      var context = new SslContextFactory.Server();
      context.setKeyStore(store);
      context.setKeyStorePassword("");
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new SandboxException(
          ErrorCode.BAD_REQUEST,
          "cannot use the certificate %s with the key %s: %s"
              .formatted(files.certificate(), files.key(), e.getMessage()),
          e);
    }
  }

  private static Certificate[] chain(Path file) throws GeneralSecurityException, IOException {
    try (var in = Files.newInputStream(file)) {
      var chain = CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (chain.isEmpty()) {
        throw new IOException("no certificate in " + file);
      }
      return chain.toArray(Certificate[]::new);
    }
  }

  /**
   * Refuses a key of another certificate: the JDK does not, and clients would only see a failed
   * handshake.
   */
  private static void requirePair(PublicKey certified, PrivateKey key)
      throws GeneralSecurityException {
    byte[] sample = "of one pair".getBytes(StandardCharsets.US_ASCII);
    var signature = Signature.getInstance(signing(key.getAlgorithm()));
    signature.initSign(key);
    signature.update(sample);
    byte[] signed = signature.sign();
    boolean isPair = certified.getAlgorithm().equals(key.getAlgorithm());
    if (isPair) {
      signature.initVerify(certified);
      signature.update(sample);
      isPair = signature.verify(signed);
    }
    if (!isPair) {
      throw new GeneralSecurityException("the key is not that of the certificate");
    }
  }

  private static String signing(String algorithm) {
    return switch (algorithm) {
      case "RSA" -> "SHA256withRSA";
      case "EC" -> "SHA256withECDSA";
      default -> algorithm;
    };
  }

  private static PrivateKey key(Path file) throws GeneralSecurityException, IOException {
    var match = KEY.matcher(Files.readString(file, StandardCharsets.US_ASCII));
    if (!match.find()) {
      throw new IOException("no PKCS#8 key in " + file + "; openssl pkcs8 -topk8 -nodes makes one");
    }
    var spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(match.group(1)));
    GeneralSecurityException last = new GeneralSecurityException("no such kind of key");
    for (String algorithm : ALGORITHMS) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(spec);
      } catch (GeneralSecurityException e) {
        last = e;
      }
    }
    throw last;
  }
}
