package dev.ebb.client.http;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.Collection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The certificate authorities that a client trusts. */
public final class Authorities {
  private Authorities() {}

  /** Trusts the authorities that the JDK trusts. */
  public static SSLContext ofTheJdk() throws IOException {
    try {
      return SSLContext.getDefault();
    } catch (GeneralSecurityException e) {
      throw new IOException("cannot use TLS: " + e.getMessage(), e);
    }
  }

  /**
   * Trusts the authorities of a PEM file, and no others.
   *
   * @param file certificates of authorities, or of the server itself
   */
  public static SSLContext of(Path file) throws IOException {
    try {
      var store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      int number = 0;
      for (Certificate each : read(file)) {
        store.setCertificateEntry(Integer.toString(number++), each);
      }
      var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      var context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IOException("cannot use the certificates of " + file + ": " + e.getMessage(), e);
    }
  }

  private static Collection<? extends Certificate> read(Path file) throws IOException {
    Collection<? extends Certificate> all;
    try (var in = Files.newInputStream(file)) {
      all = CertificateFactory.getInstance("X.509").generateCertificates(in);
    } catch (CertificateException e) {
      throw new IOException("cannot read certificates from " + file + ": " + e.getMessage(), e);
    }
    if (all.isEmpty()) {
      throw new IOException("no certificate in " + file);
    }
    return all;
  }
}
