package io.queenmq.kv;

import java.util.List;

/** What became of a call. */
public sealed interface KvAnswer {
    /** It took effect: one result per operation, in their order. */
    record Done(List<KvResult> results) implements KvAnswer {}

    /** Nothing took effect, because of the first operation that had to be applied and was not. */
    record PreconditionLost(int index, KvResult.Written result) implements KvAnswer {}
}
