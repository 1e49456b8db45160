package io.queenmq.admin;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.insight.ChangeReads;
import io.queenmq.insight.ChangeReads.Change;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Timestamps;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Which partitions were written, on the wire. Pure. */
final class ChangeJson {
    private static final int ENTRIES_MAX = 64;

    /** What a cursor says: behind which name, or behind which time and name. */
    private static final Pattern CURSOR = Pattern.compile("(?s)(?:(\\d{1,17}))?/(.+)");

    private ChangeJson() {}

    /**
     * One page that is asked for.
     *
     * @param page null = its cursor is none, or one of the other kind
     */
    record Entry(String queue, ChangeReads.@Nullable Page page) {}

    static List<Entry> read(byte[] bytes) {
        List<Entry> entries = null;
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                if (name.equals("entries") && body.token() == JsonToken.START_ARRAY) {
                    entries = new ArrayList<>();
                    while (body.nextElement()) {
                        if (entries.size() == ENTRIES_MAX) {
                            throw bad("entries must be at most " + ENTRIES_MAX);
                        }
                        entries.add(entry(body, entries.size()));
                    }
                } else {
                    body.skip();
                }
            }
            body.end();
        }
        if (entries == null) {
            throw bad("entries is required");
        }
        return entries;
    }

    private static Entry entry(JsonBody body, int index) {
        String queue = null;
        String since = null;
        String after = null;
        int limit = ChangeReads.PAGE_MAX;
        if (body.token() != JsonToken.START_OBJECT) {
            throw bad("entries[" + index + "] must be an object, got " + body.kind());
        }
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            switch (name) {
                case "queue" -> queue = body.textOrNull(name);
                case "since" -> since = body.textOrNull(name);
                case "after" -> after = body.textOrNull(name);
                case "limit" -> limit = limit(body);
                default -> body.skip();
            }
        }
        if (queue == null || queue.isEmpty()) {
            throw bad("entries[" + index + "].queue is required");
        }
        Names.name("queue", queue);
        Instant from = since == null ? null : Timestamps.parse(since);
        if (since != null && from == null) {
            throw bad("bad timestamp: entries[" + index + "].since, got " + Excerpt.of(since));
        }
        return new Entry(queue, page(queue, from, after, limit));
    }

    /** A number is brought into its range; anything else is as good as nothing. */
    private static int limit(JsonBody body) {
        Long whole = body.whole();
        body.skip();
        return whole == null ? ChangeReads.PAGE_MAX : Math.clamp(whole, 1, ChangeReads.PAGE_MAX);
    }

    private static ChangeReads.@Nullable Page page(
            String queue, @Nullable Instant since, @Nullable String after, int limit) {
        if (after == null) {
            return new ChangeReads.Page(queue, since, null, null, limit);
        }
        String text;
        try {
            text = new String(Base64.getUrlDecoder().decode(after), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            return null;
        }
        Matcher cursor = CURSOR.matcher(text);
        if (!cursor.matches() || (cursor.group(1) == null) != (since == null)) {
            return null;
        }
        String micros = cursor.group(1);
        return new ChangeReads.Page(
                queue,
                since,
                micros == null
                        ? null
                        : Instant.EPOCH.plus(Long.parseLong(micros), ChronoUnit.MICROS),
                Names.isTransactionId(cursor.group(2)) ? cursor.group(2) : "",
                limit);
    }

    private static String cursor(ChangeReads.Page page, Change last) {
        String text =
                page.since() == null
                        ? "/" + last.partition()
                        : ChronoUnit.MICROS.between(Instant.EPOCH, last.lastWriteAt())
                                + "/"
                                + last.partition();
        return Base64.getUrlEncoder()
                .withoutPadding()
                .encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static QueenException bad(String sentence) {
        return new QueenException(Failure.BAD_REQUEST, sentence);
    }

    static JsonBuffer begin(ChangeReads.SafeTime safe) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"safeTime\":").instant(safe.at());
        return json.raw(",\"safeTimeDegraded\":").bool(safe.degraded()).raw(",\"entries\":[");
    }

    static void error(JsonBuffer json, Entry entry, String error) {
        head(json, entry).raw(",\"error\":").string(error).raw('}');
    }

    static void changes(JsonBuffer json, Entry entry, ChangeReads.Page page, List<Change> changes) {
        head(json, entry).raw(",\"partitions\":[");
        for (Change change : changes) {
            json.raw(json.endsWith('[') ? "{\"name\":" : ",{\"name\":");
            json.string(change.partition());
            json.raw(",\"lastOffset\":").number(change.lastOffset());
            json.raw(",\"logStart\":").number(change.logStart());
            json.raw(",\"lastWriteAt\":").instant(change.lastWriteAt()).raw('}');
        }
        json.raw("],\"next\":");
        json.string(changes.size() < page.limit() ? null : cursor(page, changes.getLast()));
        json.raw('}');
    }

    private static JsonBuffer head(JsonBuffer json, Entry entry) {
        return json.raw(json.endsWith('[') ? "{\"queue\":" : ",{\"queue\":").string(entry.queue());
    }
}
