package io.queenmq.fuzz;

import io.queenmq.fuzz.Calls.Call;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/** Requests as bytes, with what clients, proxies and attackers do to them. */
final class Wire {
    private static final String[] TARGETS = {
        "*",
        "",
        "//",
        "/../../etc/passwd",
        "/%2e%2e/",
        "http://q/livez",
        "/livez#x",
        "/api/v1/pop?%",
        "/\u0001",
        "/ä",
        "livez",
        "/livez?\0",
        "/api/v1/pop/queue/%zz",
        "/api/v1//pop",
        "?"
    };
    private static final String[] VERSIONS = {
        "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 x", "", "HTTP/9999999999.1"
    };
    private static final String[] METHODS = {
        "get", "TRACE", "CONNECT", "OPTIONS", "PRI", "G\0T", "", "PATCH", "VERYLONGMETHOD"
    };
    private static final String[] HEADERS = {
        "Content-Length: 5",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
        "Content-Length: 0x10",
        "Content-Length: 1, 2",
        "Content-Length:",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: \u000bchunked",
        "Expect: 100-continue",
        "Expect: something",
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
        "Upgrade: websocket\r\nConnection: Upgrade",
        "Connection: close",
        "Connection: keep-alive, close",
        "Host: other",
        "no colon",
        ": no name",
        "na me: x",
        "\tfolded",
        "X: \0",
        "X: \u00ff\u0100",
        "x-queen-tenant: 0199aaaa-1111-7222-8333-444444444444",
        "x-queen-tenant: nobody",
        "Content-Encoding: gzip",
        "Accept-Encoding: gzip, br, *;q=0"
    };
    private static final String[] CHUNKS = {
        "5\r\nabcde\r\n0\r\n\r\n",
        "zz\r\nabc\r\n",
        "-1\r\n",
        "FFFFFFFFFFFFFFFF\r\n",
        "7fffffff\r\nabc",
        "5;ext=\"\r\n\"\r\nabcde\r\n0\r\n\r\n",
        "5\nabcde\n0\n\n",
        "5\r\nabcdefgh\r\n0\r\n\r\n",
        "0\r\nTrailer: x\r\n\r\n",
        "0\r\nno colon\r\n\r\n",
        "\r\n",
        "0"
    };

    private final Random random;
    private final Strange strange;
    private final Calls calls;

    Wire(Random random) {
        this.random = random;
        this.strange = new Strange(random);
        this.calls = new Calls(random);
    }

    /** Several requests behind each other, and maybe something that is none. */
    byte[] conversation() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = random.nextInt(4); i >= 0; i--) {
            out.writeBytes(request());
        }
        byte[] bytes = out.toByteArray();
        if (random.nextInt(3) == 0) {
            for (int i = random.nextInt(4); i >= 0; i--) {
                bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
            }
        }
        if (random.nextInt(4) == 0) {
            bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
        }
        if (random.nextInt(40) == 0) {
            random.nextBytes(bytes);
        }
        return bytes;
    }

    private byte[] request() {
        Call call = random.nextInt(3) == 0 ? calls.push() : calls.next();
        boolean odd = random.nextInt(3) > 0;
        String method = odd && random.nextInt(8) == 0 ? strange.one(METHODS) : call.method();
        String target = odd && random.nextInt(8) == 0 ? target() : call.path();
        String version = odd && random.nextInt(8) == 0 ? strange.one(VERSIONS) : "HTTP/1.1";
        String end = odd && random.nextInt(12) == 0 ? "\n" : "\r\n";
        StringBuilder head = new StringBuilder();
        head.append(method).append(' ').append(target).append(' ').append(version).append(end);
        head.append("Host: q").append(end);
        for (int i = odd ? random.nextInt(3) : 0; i > 0; i--) {
            head.append(strange.one(HEADERS)).append(end);
        }
        if (odd && random.nextInt(30) == 0) {
            head.append("X: ").append("y".repeat(random.nextInt(40_000))).append(end);
        }
        if (odd && random.nextInt(30) == 0) {
            head.append("X: y\r\n".repeat(random.nextInt(8_000)));
        }
        byte[] body = call.body();
        boolean chunked = random.nextInt(3) == 0;
        if (chunked) {
            head.append("Transfer-Encoding: chunked").append(end);
            body = chunks(body, odd && random.nextInt(3) == 0);
        } else if (call.method().equals("POST")) {
            int lie = odd && random.nextInt(8) == 0 ? random.nextInt(9) - 4 : 0;
            head.append("Content-Length: ").append(body.length + lie).append(end);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(head.append(end).toString().getBytes(StandardCharsets.UTF_8));
        out.writeBytes(body);
        return out.toByteArray();
    }

    private String target() {
        return random.nextInt(8) == 0
                ? "/" + "a".repeat(random.nextInt(40_000))
                : strange.one(TARGETS);
    }

    private byte[] chunks(byte[] body, boolean bad) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int at = 0;
        while (at < body.length) {
            int length = Math.min(body.length - at, 1 + random.nextInt(200));
            out.writeBytes((Integer.toHexString(length) + "\r\n").getBytes(StandardCharsets.UTF_8));
            out.write(body, at, length);
            out.writeBytes("\r\n".getBytes(StandardCharsets.UTF_8));
            at += length;
            if (bad && random.nextInt(3) == 0) {
                break;
            }
        }
        out.writeBytes((bad ? strange.one(CHUNKS) : "0\r\n\r\n").getBytes(StandardCharsets.UTF_8));
        return out.toByteArray();
    }
}
