package dev.ebb.server.http;

import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Executor;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SelectorManager;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.unixdomain.server.UnixDomainServerConnector;
import org.eclipse.jetty.util.thread.Scheduler;

/** Jetty's connectors, each with one acceptor, one selector and {@link RunningTimeEndPoint}s. */
final class Connectors {
  private Connectors() {}

  static final class Tcp extends ServerConnector {
    Tcp(Server server, ConnectionFactory... factories) {
      super(server, 1, 1, factories);
    }

    @Override
    protected SocketChannelEndPoint newEndPoint(
        SocketChannel channel, ManagedSelector selector, SelectionKey key) {
      return timed(
          new RunningTimeEndPoint(channel, selector, key, getScheduler()), getIdleTimeout());
    }
  }

  static final class Unix extends UnixDomainServerConnector {
    Unix(Server server, HttpConnectionFactory http) {
      super(server, 1, 1, http);
    }

    @Override
    protected SelectorManager newSelectorManager(
        Executor executor, Scheduler scheduler, int selectors) {
      return new UnixDomainSelectorManager(executor, scheduler, selectors) {
        @Override
        protected EndPoint newEndPoint(
            SelectableChannel channel, ManagedSelector selector, SelectionKey key) {
          var socket = (SocketChannel) channel;
          return timed(
              new RunningTimeEndPoint(socket, selector, key, getScheduler()), getIdleTimeout());
        }
      };
    }
  }

  private static RunningTimeEndPoint timed(RunningTimeEndPoint endPoint, long idleMillis) {
    endPoint.setIdleTimeout(idleMillis);
    return endPoint;
  }
}
