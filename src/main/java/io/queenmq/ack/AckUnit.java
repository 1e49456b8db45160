package io.queenmq.ack;

import io.queenmq.combine.Work;
import io.queenmq.ready.Delivery;
import io.queenmq.segment.MessageKey;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The acks of one request for one lane under one lease. Units of one cursor are served one call
 * after the other.
 */
final class AckUnit implements Work<AckUnit.Cursor> {
    /** The row they move. */
    record Cursor(long lane, String group) {}

    final UUID tenant;
    final String group;
    final long lane;
    final @Nullable UUID leaseId;

    /** Where each item stands in the request. */
    final List<Integer> positions = new ArrayList<>();

    final List<MessageKey> keys = new ArrayList<>();
    final List<AckStatus> statuses = new ArrayList<>();
    final List<@Nullable String> errors = new ArrayList<>();

    /** One result per item; empty = the lease was not what was remembered, ask by key. */
    private CompletableFuture<List<AckResult>> answer = new CompletableFuture<>();

    private final Cursor cursor;

    /** What the lease delivered, if all of it is acknowledged here. */
    private @Nullable Delivery whole;

    AckUnit(UUID tenant, String group, long lane, @Nullable UUID leaseId) {
        this.tenant = tenant;
        this.group = group;
        this.lane = lane;
        this.leaseId = leaseId;
        this.cursor = new Cursor(lane, group);
    }

    void add(int position, MessageKey key, AckStatus status, @Nullable String error) {
        positions.add(position);
        keys.add(key);
        statuses.add(status);
        errors.add(error);
    }

    void acksAllOf(Delivery delivery) {
        whole = delivery;
    }

    boolean isWhole() {
        return whole != null;
    }

    int queueId() {
        return whole().queueId();
    }

    int groupId() {
        return whole().groupId();
    }

    long batchEnd() {
        return whole().batchEnd();
    }

    private Delivery whole() {
        if (whole == null) {
            throw new IllegalStateException("not an ack of a whole batch");
        }
        return whole;
    }

    CompletableFuture<List<AckResult>> answer() {
        return answer;
    }

    void answer(List<AckResult> results) {
        answer.complete(results);
    }

    /** It was taken for the ack of a whole batch, and is not: it begins anew, by key. */
    void askByKey() {
        whole = null;
        answer = new CompletableFuture<>();
    }

    void answerAll(AckResult result) {
        answer.complete(Collections.nCopies(keys.size(), result));
    }

    @Override
    public Cursor key() {
        return cursor;
    }

    @Override
    public Object tenant() {
        return tenant;
    }

    @Override
    public Object queue() {
        return group;
    }

    @Override
    public int items() {
        return keys.size();
    }

    @Override
    public int bytes() {
        int bytes = 64 + 64 * keys.size();
        for (String error : errors) {
            bytes += error == null ? 0 : error.length();
        }
        return bytes;
    }
}
