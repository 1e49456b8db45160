package io.queenmq.loadtest;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the kernel counts per connection. */
final class Sockets {
    private static final Pattern SENT = Pattern.compile("bytes_sent:(\\d+)");

    private Sockets() {}

    /** Bytes that the connections open now have carried from a port of this machine. */
    static long bytesSentFrom(int port) {
        String listed =
                Commands.run(
                        List.of(
                                "ss",
                                "-tinH",
                                "state",
                                "established",
                                "( sport = :" + port + " )"));
        long bytes = 0;
        Matcher sent = SENT.matcher(listed);
        while (sent.find()) {
            bytes += Long.parseLong(sent.group(1));
        }
        return bytes;
    }
}
