package io.queenmq.machine;

import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Queue;
import java.util.List;

/** What every operation must answer and leave behind, said from the contract alone. */
final class Model {
    final State state = new State();
    private final Pushes pushes = new Pushes(state);
    private final Pops pops = new Pops(state);
    private final Acks acks;
    private final Moves moves = new Moves(state, pushes);
    private final Bundles bundles;

    /**
     * @param behindBrokers whether brokers stand before it: they remember what they delivered, and
     *     clean up what deletes leave
     */
    Model(boolean behindBrokers) {
        this.acks = new Acks(state, behindBrokers);
        this.bundles = new Bundles(state, pushes, acks);
    }

    /** The operation as it can be asked for now. */
    Op resolve(Op op) {
        return switch (op) {
            case Op.Push push ->
                    new Op.Push(
                            push.id(),
                            push.waiting(),
                            push.batches().stream().map(pushes::truthful).toList());
            case Op.Settle settle ->
                    new Op.Settle(settle.id(), pushes.truthful(settle.batch()), settle.above());
            case Op.Transact bundle ->
                    new Op.Transact(
                            bundle.id(),
                            bundle.batches().stream().map(pushes::truthful).toList(),
                            bundle.units(),
                            bundle.items(),
                            bundle.supplied());
            default -> op;
        };
    }

    /**
     * The answer, a line per verdict; alternatives are parted by " or ".
     *
     * @param observed what the real thing answered, for where it has a choice
     */
    List<String> apply(Op op, List<String> observed) {
        state.step++;
        return switch (op) {
            case Op.Push push -> pushes.push(push);
            case Op.Settle settle -> pushes.settle(settle);
            case Op.Pop pop -> pops.pop(pop, observed);
            case Op.QueuePop pop -> pops.queuePop(pop, observed);
            case Op.Register register -> pops.register(register);
            case Op.AckBatches batches -> acks.ackBatches(batches);
            case Op.Ack ack -> acks.ack(ack, observed);
            case Op.SeekQueue seek -> moves.seekQueue(seek);
            case Op.SeekLane seek -> moves.seekLane(seek);
            case Op.Subscribe subscribe -> moves.subscribe(subscribe);
            case Op.DeleteGroup delete -> moves.deleteGroup(delete);
            case Op.DeleteDeadLetter delete -> moves.deleteDeadLetter(delete);
            case Op.Replay replay -> moves.replay(replay);
            case Op.Transact bundle -> bundles.transact(bundle);
            case Op.Extend extend -> pops.extend(extend);
            case Op.Release release -> pops.release(release);
            case Op.Configure configure -> configure(configure);
            case Op.DeleteQueue delete -> delete(delete);
            case Op.Expire expire -> expire(expire);
            case Op.Pass pass -> pass(pass);
        };
    }

    private List<String> configure(Op.Configure configure) {
        boolean isNew = !state.queues.containsKey(configure.queue());
        Queue queue = state.queues.computeIfAbsent(configure.queue(), name -> new Queue(name, 300));
        for (Op.Option option : configure.options()) {
            String value = option.value();
            switch (option.name()) {
                case "lease_seconds" -> queue.leaseSeconds = Integer.parseInt(value);
                case "retry_limit" -> queue.retryLimit = Integer.parseInt(value);
                case "dead_letter_queue" -> queue.deadLetterQueue = Boolean.parseBoolean(value);
                case "dlq_after_max_retries" ->
                        queue.dlqAfterMaxRetries = Boolean.parseBoolean(value);
                case "dedup_window_seconds" -> queue.dedupSeconds = Integer.parseInt(value);
                case "delayed_processing_seconds" -> queue.delaySeconds = Integer.parseInt(value);
                case "completed_retention_seconds" ->
                        queue.completedRetentionSeconds = Integer.parseInt(value);
                default -> throw new IllegalArgumentException(option.name());
            }
        }
        queue.narrowestDedupSeconds =
                isNew
                        ? queue.dedupSeconds
                        : Math.min(queue.narrowestDedupSeconds, queue.dedupSeconds);
        return List.of("configured");
    }

    private List<String> delete(Op.DeleteQueue delete) {
        Queue queue = state.queues.remove(delete.queue());
        if (queue != null) {
            queue.deleted = true;
        }
        return List.of("deleted " + (queue != null));
    }

    private List<String> expire(Op.Expire expire) {
        Lane lane = state.lane(expire.queue(), expire.partition());
        for (int i = 0; lane != null && i < expire.segments(); i++) {
            while (lane.logStart <= lane.last()) {
                lane.logStart++;
                if (lane.logStart > lane.last()
                        || lane.at(lane.logStart).segmentBase() == lane.logStart) {
                    break;
                }
            }
        }
        return List.of();
    }

    private List<String> pass(Op.Pass pass) {
        state.seconds += (long) pass.units() * State.UNIT_SECONDS;
        return List.of();
    }
}
