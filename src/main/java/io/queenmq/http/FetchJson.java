package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.fetch.FetchRequest;
import io.queenmq.fetch.Fetched;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameReader;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Reading from offsets on, on the wire. Pure. */
final class FetchJson {
    private static final int ENTRIES_MAX = 1_024;
    private static final int BYTES = 1 << 20;
    private static final int BYTES_MAX = 8 << 20;
    private static final int WAIT_MILLIS_MAX = 30_000;

    /** Messages of one entry, and bytes of one answer: the rest is there the next time. */
    private static final int RECORDS_MAX = 10_000;

    private static final int ANSWER_BYTES_MAX = 64 << 20;

    /** Of a message on the wire, but for its payload. */
    private static final long RECORD_BYTES = 128;

    private FetchJson() {}

    static FetchRequest read(UUID tenant, byte[] bytes) {
        List<FetchRequest.Entry> entries = List.of();
        long wait = 0;
        long bytesMin = 1;
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "entries" -> entries = entries(body);
                    case "maxWaitMs" -> wait = number(body, name, 0, 0, WAIT_MILLIS_MAX);
                    case "minBytes" -> bytesMin = number(body, name, 1, 0, Long.MAX_VALUE);
                    default -> body.skip();
                }
            }
            body.end();
        }
        return new FetchRequest(tenant, entries, Duration.ofMillis(wait), bytesMin);
    }

    private static List<FetchRequest.Entry> entries(JsonBody body) {
        if (body.token() != JsonToken.START_ARRAY) {
            throw JsonBody.bad("entries must be an array, got " + body.kind());
        }
        List<FetchRequest.Entry> entries = new ArrayList<>();
        while (body.nextElement()) {
            if (entries.size() == ENTRIES_MAX) {
                throw JsonBody.bad("entries exceeds the " + ENTRIES_MAX + "-entry limit");
            }
            entries.add(entry(body, "entries[" + entries.size() + "]"));
        }
        return entries;
    }

    private static FetchRequest.Entry entry(JsonBody body, String place) {
        if (body.token() != JsonToken.START_OBJECT) {
            throw JsonBody.bad(place + " must be an object, got " + body.kind());
        }
        String queue = null;
        String partition = null;
        long offset = -1;
        int bytesMax = BYTES;
        boolean placed = false;
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            switch (name) {
                case "queue" -> queue = body.textOrNull(name);
                case "partition" -> partition = partition(body);
                case "offset" -> {
                    offset = number(body, place + ".offset", -1, Long.MIN_VALUE, Long.MAX_VALUE);
                    placed = true;
                }
                case "maxBytes" -> bytesMax = (int) number(body, name, BYTES, 1, BYTES_MAX);
                default -> body.skip();
            }
        }
        if (!placed || offset < 0) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    place + ".offset must be at least 0" + (placed ? ", got " + offset : ""));
        }
        return new FetchRequest.Entry(
                Names.name(place + ".queue", queue),
                Names.name(
                        place + ".partition",
                        partition == null || partition.isEmpty()
                                ? Names.DEFAULT_PARTITION
                                : partition),
                offset,
                bytesMax);
    }

    /** A name may look like a number. */
    private static @Nullable String partition(JsonBody body) {
        return body.token() == JsonToken.VALUE_NUMBER_INT
                ? body.raw().toString()
                : body.textOrNull("partition");
    }

    private static long number(JsonBody body, String name, long absent, long min, long max) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return absent;
        }
        Long whole = body.whole();
        if (whole == null) {
            throw JsonBody.bad(name + " must be a whole number, got " + Excerpt.of(body.raw()));
        }
        return Math.clamp(whole.longValue(), min, max);
    }

    /** About how many bytes the answer will take. */
    static long size(long messages, long bytes) {
        return Math.min(bytes + RECORD_BYTES * messages, ANSWER_BYTES_MAX);
    }

    static JsonBuffer write(FetchRequest request, List<Fetched> fetched, PayloadCipher cipher) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"entries\":[");
        for (int i = 0; i < fetched.size(); i++) {
            FetchRequest.Entry entry = request.entries().get(i);
            Fetched one = fetched.get(i);
            json.raw(i == 0 ? "{\"queue\":" : ",{\"queue\":").string(entry.queue());
            json.raw(",\"partition\":").string(entry.partition()).raw(",\"records\":[");
            records(json, one, cipher);
            json.raw("],\"highWatermark\":").number(one.lastOffset() + 1);
            json.raw(",\"logStartOffset\":").number(one.logStart());
            switch (one.verdict()) {
                case OK -> {}
                case UNKNOWN_QUEUE -> json.raw(",\"error\":\"UNKNOWN_TOPIC_OR_PARTITION\"");
                case OUT_OF_RANGE -> json.raw(",\"error\":\"OFFSET_OUT_OF_RANGE\"");
            }
            json.raw('}');
        }
        return json.raw("]}");
    }

    private static void records(JsonBuffer json, Fetched fetched, PayloadCipher cipher) {
        int records = 0;
        for (Fetched.Run run : fetched.runs()) {
            FrameReader reader =
                    new FrameReader(
                            run.partitionNumber(),
                            run.baseOffset(),
                            run.createdAt().toEpochMilli(),
                            run.keys(),
                            run.frames(),
                            run.first(),
                            run.count());
            // The first message of an answer is delivered however large it is.
            while (records < RECORDS_MAX && json.length() < ANSWER_BYTES_MAX && reader.next()) {
                json.raw(records++ == 0 ? "{\"offset\":" : ",{\"offset\":");
                json.number(reader.offset());
                json.raw(",\"transactionId\":").string(reader.transactionId());
                json.raw(",\"payload\":");
                Slice payload = cipher.open(reader.payload());
                if ((reader.flags() & Frame.NOT_JSON) == 0) {
                    json.raw(payload);
                } else {
                    json.raw('"').raw(Base64.getEncoder().encode(payload.copy())).raw('"');
                }
                json.raw(",\"ts\":").millis(run.createdAt()).raw('}');
            }
        }
    }
}
