package io.queenmq.loadtest;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Renders message payloads: JSON objects of one size that begin with lane, sequence number and the
 * instant they were due, which the verifier reads back.
 */
final class Payload {
    /** What fills the payload up to its size. */
    enum Kind {
        /** One character repeated: compresses to almost nothing. */
        FILLER,
        /** Random base64: does not compress. */
        RANDOM,
        /** An order with distinct ids, names and amounts: compresses as business data does. */
        ORDER;

        static Kind of(String name) {
            return valueOf(name.toUpperCase(Locale.ROOT));
        }

        String optionName() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final byte[] LANE = ascii("{\"lane\":");
    private static final byte[] SEQUENCE = ascii(",\"seq\":");
    private static final byte[] DUE = ascii(",\"due\":");
    private static final byte[] REST = ascii(",\"rest\":\"");
    private static final byte[] END = ascii("\"}");
    private static final byte[] ORDER_ID = ascii(",\"order\":\"A-");
    private static final byte[] CUSTOMER = ascii("\",\"customer\":{\"id\":\"C");
    private static final byte[] NAME = ascii("\",\"name\":\"");
    private static final byte[] STATE = ascii("\"},\"state\":\"");
    private static final byte[] TOTAL = ascii("\",\"total\":");
    private static final byte[] ITEM = ascii(",\"items\":[{\"sku\":\"");
    private static final byte[] QUANTITY = ascii("\",\"quantity\":");
    private static final byte[] ORDER_END = ascii("}]");
    private static final byte[] BASE64 =
            ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    private static final String[] NAMES = {
        "Ada Byron",
        "Grace Hopper",
        "Edgar Codd",
        "Barbara Liskov",
        "Michael Stonebraker",
        "Radia Perlman",
        "Jim Gray",
        "Leslie Lamport"
    };
    private static final String[] STATES = {"placed", "paid", "packed", "shipped", "returned"};

    private final Kind kind;
    private final int size;
    private final Rng rng;

    Payload(Kind kind, int size, Rng rng) {
        this.kind = kind;
        this.size = size;
        this.rng = rng;
    }

    /** Appends one payload. */
    void render(Bytes out, int lane, long sequence, long dueMicros) {
        int start = out.size();
        out.add(LANE).number(lane).add(SEQUENCE).number(sequence).add(DUE).number(dueMicros);
        if (kind == Kind.ORDER) {
            order(out);
        }
        out.add(REST);
        int missing = size - (out.size() - start) - END.length;
        if (kind == Kind.RANDOM) {
            random(out, missing);
        } else {
            for (int i = 0; i < missing; i++) {
                out.add((byte) 'x');
            }
        }
        out.add(END);
    }

    private void order(Bytes out) {
        out.add(ORDER_ID).padded(rng.next() >>> 20, 10);
        out.add(CUSTOMER).padded(rng.below(1_000_000), 6);
        out.add(NAME).add(NAMES[rng.below(NAMES.length)]);
        out.add(STATE).add(STATES[rng.below(STATES.length)]);
        out.add(TOTAL).number(rng.below(90_000) + 1_000).add((byte) '.').padded(rng.below(100), 2);
        out.add(ITEM).padded(rng.next() >>> 24, 8);
        out.add(QUANTITY).number(rng.below(9) + 1).add(ORDER_END);
    }

    private void random(Bytes out, int length) {
        long bits = 0;
        for (int i = 0; i < length; i++) {
            if (i % 10 == 0) {
                bits = rng.next();
            }
            out.add(BASE64[(int) bits & 63]);
            bits >>>= 6;
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
