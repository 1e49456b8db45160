package io.queenmq.transact;

import io.queenmq.ack.TransactionAcks;
import io.queenmq.kv.KvOp;
import io.queenmq.push.PushItem;
import io.queenmq.timer.TimerOp;
import java.util.List;

/**
 * A transaction to carry out.
 *
 * @param steps in the order of the request, which is that of the results
 * @param requiredLeases leases named beside those of the acks
 * @param keys operations on keys, whose results stand behind those of the steps
 * @param timers operations on timers, whose results stand behind those of the keys
 */
public record TransactRequest(
        List<Step> steps, List<String> requiredLeases, List<KvOp> keys, List<TimerOp> timers) {
    boolean isEmpty() {
        return steps.isEmpty() && keys.isEmpty() && timers.isEmpty();
    }

    /** One message to store, or one acknowledgement. */
    public sealed interface Step {
        record Push(PushItem item) implements Step {}

        record Ack(TransactionAcks.Item item) implements Step {}
    }

    List<PushItem> pushes() {
        return steps.stream()
                .filter(Step.Push.class::isInstance)
                .map(step -> ((Step.Push) step).item())
                .toList();
    }

    List<TransactionAcks.Item> acks() {
        return steps.stream()
                .filter(Step.Ack.class::isInstance)
                .map(step -> ((Step.Ack) step).item())
                .toList();
    }
}
