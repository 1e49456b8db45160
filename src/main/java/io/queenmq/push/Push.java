package io.queenmq.push;

import io.queenmq.model.Caller;
import java.util.List;

/** The use case of storing messages; called from the thread of the request. */
public final class Push {

    /**
     * Stores the items, lane by lane, and answers once every lane has its verdict.
     *
     * @return one result per item, in the order of the items
     * @throws io.queenmq.model.QueenException bad request (nothing stored), overloaded or busy
     *     (nothing stored), outcome unknown
     */
    public List<PushResult> push(Caller caller, List<PushItem> items) {
        throw new UnsupportedOperationException();
    }
}
