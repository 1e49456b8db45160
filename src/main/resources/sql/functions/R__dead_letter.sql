-- Dead letters: listing, deleting, and moving them back into a lane. A row is never changed: it is
-- there or it is gone.

-- queen_store.walk_dead_letters: which dead letters of a tenant filters let through, each queue's
-- from its newest down, as far as so many rows may be looked at.
-- Called by  find_dead_letters, count_dead_letters
-- Locks      none
-- Returns    in any order, per queue at most p_matches rows that pass, with their places; and where
--            its walk ended before that and before the queue did, a row with id null and the last
--            place that was looked at. Null = any, for every filter; p_search is sought in
--            the error, whatever its case
-- Cost       1 statement; per queue one index range. Those with such rows share p_look of them, and
--            a search 16 MiB of their errors; each gets at least one row
create or replace function queen_store.walk_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_search text, p_before_at timestamptz, p_before_id bigint,
    p_look integer, p_matches integer)
returns table (id bigint, place_at timestamptz, place_id bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
-- The index has the order; a sort would read all there is for one page.
set enable_sort = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select case when not w.beyond then w.id end,
           case when w.beyond then w.above_at else w.failed_at end,
           case when w.beyond then w.above_id else w.id end
    from (
        select q.id, l.partition_id, greatest(p_look / count(*) over (), 1) as look,
               16777216 / count(*) over () as look_bytes
        from queen_store.queues q
        cross join lateral (
            select queen_store.lane_named(q.id, p_partition) as partition_id
            offset 0) l
        where q.tenant_id = p_tenant_id and q.deleted_at is null
          and (p_queue is null or q.name = p_queue)
          and (p_partition is null or l.partition_id is not null)
          and exists (
              select
              from queen_store.dead_letters d
              where d.queue_id = q.id
                and d.failed_at <= coalesce(least(p_to, p_before_at), 'infinity')
                and d.failed_at >= coalesce(p_from, '-infinity'))
        offset 0) q
    cross join lateral (
        select b.*
        from (
            select d.*, d.number > q.look or d.bytes_above > q.look_bytes as beyond
            from (
                select d.id, d.failed_at, d.group_name, d.partition_id, d.error,
                       row_number() over w as number,
                       lag(d.failed_at) over w as above_at,
                       lag(d.id) over w as above_id,
                       coalesce(sum(case when p_search is null then 0
                                         else octet_length(d.error) end)
                           over (w rows between unbounded preceding and 1 preceding), 0)
                           as bytes_above
                from queen_store.dead_letters d
                where d.queue_id = q.id
                  and (d.failed_at, d.id)
                      < (coalesce(p_before_at, 'infinity'),
                         coalesce(p_before_id, 9223372036854775807))
                  and d.failed_at >= coalesce(p_from, '-infinity')
                  and d.failed_at <= coalesce(p_to, 'infinity')
                window w as (order by d.failed_at desc, d.id desc)
                order by d.failed_at desc, d.id desc
                limit q.look + 1) d) b
        where b.beyond
           or (p_group is null or b.group_name = p_group)
              and (p_partition is null or b.partition_id = q.partition_id)
              and (p_search is null or strpos(lower(b.error), lower(p_search)) > 0)
        limit p_matches) w;
end
$$;
comment on function queen_store.walk_dead_letters(
    uuid, text, text, text, timestamptz, timestamptz, text, timestamptz, bigint, integer,
    integer) is
    'Places of the dead letters that filters let through, among as many as may be looked at. Locks: none.';

-- queen_store.find_dead_letters: a page of the list of what groups gave up, newest first.
-- Called by  DeadLetterReads
-- Locks      none
-- Returns    one row: the numbers of the page, at most p_limit behind p_offset, or behind the row
--            (p_before_at, p_before_id); behind which place the next one begins, and how many rows
--            of that it passes over, null = there is none; complete = false: the page ends before
--            it is full, for p_look rows had been looked at
-- Cost       1 statement and that of walk_dead_letters
create or replace function queen_store.find_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_search text, p_before_at timestamptz, p_before_id bigint, p_limit integer,
    p_offset integer, p_look integer)
returns table (
    ids bigint[], next_at timestamptz, next_id bigint, next_offset integer, complete boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids bigint[];
    v_times timestamptz[];
    v_edge_at timestamptz;
    v_edge_id bigint;
    v_reached integer;
begin
    -- One more than the page, to know whether another one follows.
    select array_agg(w.id order by w.place_at desc, w.place_id desc) filter (where w.id > 0),
           array_agg(w.place_at order by w.place_at desc, w.place_id desc) filter (where w.id > 0),
           (array_agg(w.place_at order by w.place_at desc, w.place_id desc)
               filter (where w.id is null))[1],
           (array_agg(w.place_id order by w.place_at desc, w.place_id desc)
               filter (where w.id is null))[1]
    into v_ids, v_times, v_edge_at, v_edge_id
    from queen_store.walk_dead_letters(
        p_tenant_id, p_queue, p_group, p_partition, p_from, p_to, p_search, p_before_at,
        p_before_id, p_look, p_offset + p_limit + 1) w;
    -- Below the highest place at which a walk ended the order is not known.
    select count(*)
    into v_reached
    from unnest(v_ids, v_times) as w (id, failed_at)
    where v_edge_at is null or (w.failed_at, w.id) >= (v_edge_at, v_edge_id);
    ids := coalesce(v_ids[p_offset + 1 : least(v_reached, p_offset + p_limit)], '{}');
    complete := v_reached >= p_offset + p_limit or v_edge_at is null;
    if v_reached > p_offset + p_limit then
        next_at := v_times[p_offset + p_limit];
        next_id := v_ids[p_offset + p_limit];
        next_offset := 0;
    elsif v_edge_at is not null then
        next_at := v_edge_at;
        next_id := v_edge_id;
        next_offset := greatest(p_offset - v_reached, 0);
    end if;
    return next;
end
$$;
comment on function queen_store.find_dead_letters(
    uuid, text, text, text, timestamptz, timestamptz, text, timestamptz, bigint, integer, integer,
    integer) is
    'Numbers of a page of dead letters, newest first, and where the next one begins. Locks: none.';

-- queen_store.read_dead_letters: what a page of the list shows.
-- Called by  DeadLetterReads
-- Locks      none
-- Returns    the dead letters of these numbers that are still there, newest first. Payloads come up
--            to 16 MiB, omitted = it was there but is left out
-- Cost       1 statement, primary keys only
create or replace function queen_store.read_dead_letters(p_ids bigint[])
returns table (
    id bigint, queue text, partition_id bigint, partition text, consumer_group text,
    "offset" bigint, message_id uuid, transaction_id text, payload bytea, omitted boolean,
    flags smallint, trace_id uuid, producer text, created_at timestamptz, error text,
    retry_count integer, failed_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select w.id, w.queue, w.partition_id, w.partition, w.group_name, w."offset", w.message_id,
           w.transaction_id, case when w.bytes_so_far <= 16777216 then w.payload end,
           w.payload is not null and w.bytes_so_far > 16777216, w.flags, w.trace_id, w.producer,
           w.created_at, w.error, w.retry_count, w.failed_at
    from (
        select d.*, q.name as queue, p.name as partition,
               sum(octet_length(d.payload)) over (
                   order by d.failed_at desc, d.id desc rows unbounded preceding) as bytes_so_far
        from unnest(p_ids) as k (id)
        cross join lateral (
            select d.*
            from queen_store.dead_letters d
            where d.id = k.id
            limit 1) d
        cross join lateral (
            select q.name
            from queen_store.queues q
            where q.id = d.queue_id
            limit 1) q
        left join lateral (
            select p.name
            from queen_store.partitions p
            where p.id = d.partition_id
            limit 1) p on true) w
    order by w.failed_at desc, w.id desc;
end
$$;
comment on function queen_store.read_dead_letters(bigint[]) is
    'What a page of dead letters shows. Locks: none.';

-- queen_store.count_dead_letters: how many rows those filters let through.
-- Called by  DeadLetterReads
-- Locks      none
-- Returns    one row: their number among those that were looked at, and whether there are more to
--            look at, in which case it is only the least there are
-- Cost       1 statement and that of walk_dead_letters
create or replace function queen_store.count_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_partition text, p_from timestamptz,
    p_to timestamptz, p_search text, p_look integer)
returns table (total bigint, capped boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select count(w.id), count(*) > count(w.id)
    from queen_store.walk_dead_letters(
        p_tenant_id, p_queue, p_group, p_partition, p_from, p_to, p_search, null, null, p_look,
        null) w;
end
$$;
comment on function queen_store.count_dead_letters(
    uuid, text, text, text, timestamptz, timestamptz, text, integer) is
    'Number of dead letters that filters let through, among as many as may be looked at. Locks: none.';

-- queen_store.dead_letters_of: the dead letters of one address, one per time a group gave it up.
-- Called by  DeadLetterProcedures, delete_dead_letter
-- Locks      none
-- Returns    their numbers, newest first
-- Cost       1 statement, one index probe of (lane, key). Of a message whose payload had expired
--            the transactionId may be the key in hexadecimal
create or replace function queen_store.dead_letters_of(
    p_tenant_id uuid, p_partition_id bigint, p_transaction_id text)
returns table (id bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_keys bytea[] := array[
        queen_store.key_of(p_transaction_id),
        case when p_transaction_id ~ '^[0-9a-f]{32}$' then decode(p_transaction_id, 'hex') end];
begin
    return query
    select d.id
    from (
        select d.id, d.queue_id, d.failed_at
        from queen_store.dead_letters d
        where d.partition_id = p_partition_id and d.key = any (v_keys)
          and d.transaction_id = p_transaction_id
        offset 0) d
    cross join lateral (
        select q.tenant_id, q.deleted_at
        from queen_store.queues q
        where q.id = d.queue_id
        limit 1) q
    where q.tenant_id = p_tenant_id and q.deleted_at is null
    order by d.failed_at desc, d.id desc;
end
$$;
comment on function queen_store.dead_letters_of(uuid, bigint, text) is
    'Numbers of the dead letters of one message, newest first. Locks: none.';

-- queen_store.delete_dead_letter: removes the dead letters of one address, of every group.
-- Called by  DeadLetterProcedures
-- Locks      dead_letters, ascending id, waits up to 1 s each: leaves
-- Returns    how many there were
-- Cost       2 statements, index probes only
create or replace function queen_store.delete_dead_letter(
    p_tenant_id uuid, p_partition_id bigint, p_transaction_id text)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
set enable_seqscan = off
as $$
declare
    v_ids bigint[];
    v_deleted integer;
    v_queue_ids integer[];
    v_groups text[];
begin
    select array_agg(l.id) into v_ids
    from (
        select d.id
        from queen_store.dead_letters d
        where d.id = any (array(
            select o.id
            from queen_store.dead_letters_of(p_tenant_id, p_partition_id, p_transaction_id) o))
        order by d.id
        for update) l;
    with deleted as (
        delete from queen_store.dead_letters d
        where d.id = any (v_ids)
        returning d.queue_id, d.group_name)
    select count(*), array_agg(d.queue_id), array_agg(d.group_name)
    into v_deleted, v_queue_ids, v_groups
    from deleted d;
    perform queen_store.count_dead_letters_gone(v_queue_ids, v_groups);
    return v_deleted;
end
$$;
comment on function queen_store.delete_dead_letter(uuid, bigint, text) is
    'Removes the dead letters of one message, of every group. Locks: dead_letters, ascending id, waits up to 1 s each: leaves.';

-- queen_store.delete_dead_letters: removes a step of the dead letters of a queue or of one group in
-- it, oldest first; the next step begins behind the last row of this one.
-- Called by  DeadLetterProcedures
-- Locks      dead_letters, skip locked: whoever is moving one takes it away
-- Returns    one row: how many of the p_limit rows looked at are gone now, and the last of them;
--            null = there are no more up to p_until
-- Cost       2 statements, one index range of p_limit rows
create or replace function queen_store.delete_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_until timestamptz, p_after_at timestamptz,
    p_after_id bigint, p_limit integer)
returns table (deleted integer, last_at timestamptz, last_id bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_ids bigint[];
    v_queue_ids integer[];
    v_groups text[];
begin
    select array_agg(d.id order by d.failed_at, d.id),
           (array_agg(d.failed_at order by d.failed_at desc, d.id desc))[1],
           (array_agg(d.id order by d.failed_at desc, d.id desc))[1]
    into v_ids, last_at, last_id
    from (
        select d.id, d.failed_at
        from queen_store.dead_letters d
        where d.queue_id = (
                select q.id
                from queen_store.queues q
                where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null)
          and (d.failed_at, d.id) > (coalesce(p_after_at, '-infinity'), coalesce(p_after_id, 0))
          and d.failed_at <= p_until
        order by d.failed_at, d.id
        limit p_limit) d;
    with gone as (
        delete from queen_store.dead_letters d
        where d.id = any (array(
            select l.id
            from queen_store.dead_letters l
            where l.id = any (v_ids) and (p_group is null or l.group_name = p_group)
            for update skip locked))
        returning d.queue_id, d.group_name)
    select count(*), array_agg(g.queue_id), array_agg(g.group_name)
    into deleted, v_queue_ids, v_groups
    from gone g;
    perform queen_store.count_dead_letters_gone(v_queue_ids, v_groups);
    return next;
end
$$;
comment on function queen_store.delete_dead_letters(
    uuid, text, text, timestamptz, timestamptz, bigint, integer) is
    'Removes a step of the dead letters of a queue or of one group in it. Locks: dead_letters, skip locked: whoever is moving one takes it away.';

-- queen_store.oldest_dead_letters: what a bulk replay moves, in the order in which it was given up.
-- Called by  DeadLetterProcedures
-- Locks      none
-- Returns    at most p_limit rows behind the row (p_after_at, p_after_id), oldest first; null = all
-- Cost       1 statement, one index range
create or replace function queen_store.oldest_dead_letters(
    p_tenant_id uuid, p_queue text, p_group text, p_after_at timestamptz, p_after_id bigint,
    p_limit integer)
returns table (id bigint, partition_id bigint, failed_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    return query
    select d.id, d.partition_id, d.failed_at
    from queen_store.dead_letters d
    where d.queue_id = (
            select q.id
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null)
      and (d.failed_at, d.id) > (coalesce(p_after_at, '-infinity'), coalesce(p_after_id, 0))
      and (p_group is null or d.group_name = p_group)
    order by d.failed_at, d.id
    limit p_limit;
end
$$;
comment on function queen_store.oldest_dead_letters(
    uuid, text, text, timestamptz, bigint, integer) is
    'Numbers of the oldest dead letters of a queue or of one group in it. Locks: none.';

-- queen_store.replay_dead_letter: moves a dead letter to the end of a lane, its own where none is
-- named; queue and lane are made where missing. The copy carries the transactionId dlq:<number>. It
-- appears and the row goes in one commit, so however often this is called there is one copy.
-- Called by  DeadLetterProcedures
-- Locks      advisory on the names of a missing queue and lane; queues and partitions: new rows;
--            partitions: one row; dead_letters: the row, a leaf; epochs as append; waits up to 1 s
--            each
-- Returns    one row: moved; duplicate (that transactionId is in the lane already; nothing is
--            written); gone (no such row: deleted, moved by another, not the tenant's); expired
--            (its payload had expired before it was given up); no_partition (its lane is gone and
--            none is named); seal or open (nothing is written: the destination wants the payload,
--            which comes along, encrypted or in the clear, and it is not; come again with that);
--            with the names of the destination, and of what moved offset, id, time
-- Raises     QN503 busy
-- Cost       some 12 statements; 16 bytes read per message the lane took within its dedup window,
--            all but the newest of them before the lane is locked
create or replace function queen_store.replay_dead_letter(
    p_tenant_id uuid, p_id bigint, p_queue text, p_partition text,
    -- What to store in the place of its payload, and whether that is an envelope; null = as it is.
    p_payload bytea, p_encrypted boolean)
returns table (
    verdict text, queue text, partition text, consumer_group text, transaction_id text,
    queue_id integer, partition_id bigint, "offset" bigint, message_id uuid,
    created_at timestamptz, payload bytea)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
    v_letter queen_store.dead_letters%rowtype;
    v_replay_id constant text := 'dlq:' || p_id;
    v_key constant bytea := queen_store.key_of('dlq:' || p_id);
    v_seen bigint;
    v_last bigint;
    v_since timestamptz;
    v_wants_envelope boolean;
    v_is_envelope boolean;
    v_appended text;
    v_bytes bigint;
begin
    select d.* into v_letter from queen_store.dead_letters d where d.id = p_id;
    select q.name into queue
    from queen_store.queues q
    where q.id = v_letter.queue_id and q.tenant_id = p_tenant_id and q.deleted_at is null;
    if queue is null then
        verdict := 'gone';
        return next;
        return;
    end if;
    queue := coalesce(p_queue, queue);
    partition := coalesce(p_partition, (
        select p.name from queen_store.partitions p where p.id = v_letter.partition_id));
    consumer_group := v_letter.group_name;
    transaction_id := v_letter.transaction_id;
    if partition is null or v_letter.payload is null then
        verdict := case when partition is null then 'no_partition' else 'expired' end;
        return next;
        return;
    end if;

    select l.queue_id, l.partition_id into queue_id, partition_id
    from queen_store.provision_lanes(p_tenant_id, array[queue], array[partition]) l;
    if p_queue is null and queue_id <> v_letter.queue_id then
        -- Nobody asked for the queue that has just been made under its name.
        raise exception using errcode = 'QN503', message = 'busy',
            detail = 'the queue it was to go to was deleted meanwhile';
    end if;
    select q.encryption_enabled,
           case when q.dedup_window_seconds > 0
                then clock_timestamp() - make_interval(secs => q.dedup_window_seconds) end
    into v_wants_envelope, v_since
    from queen_store.queues q
    where q.id = queue_id;
    v_is_envelope := coalesce(p_encrypted, v_letter.flags & 32 <> 0);
    -- An envelope that comes along is one that nobody could open: it may go anywhere.
    if v_wants_envelope and not v_is_envelope
        or v_is_envelope and not v_wants_envelope and p_payload is null
    then
        verdict := case when v_wants_envelope then 'seal' else 'open' end;
        payload := v_letter.payload;
        return next;
        return;
    end if;

    -- What the log holds by now does not change: so much is searched without holding the lane up.
    select p.last_offset into v_seen from queen_store.partitions p where p.id = partition_id;
    if not exists (
            select
            from queen_store.find_originals(
                array[partition_id], array[v_seen], array[v_since], array[1], array[v_key])) then
        perform 1 from queen_store.partitions p where p.id = partition_id for no key update;
        perform 1 from queen_store.dead_letters d where d.id = p_id for update;
        if not found then
            verdict := 'gone';
            return next;
            return;
        end if;
        select p.last_offset into v_last from queen_store.partitions p where p.id = partition_id;
        if not exists (
                select
                from queen_store.read_keys(
                    partition_id, v_seen + 1, v_last, v_since, 2147483647) k
                cross join generate_series(0, (k.end_offset - k.base_offset)::integer) n (position)
                where substr(k.keys, n.position * 16 + 1, 16) = v_key
                  and k.base_offset + n.position > v_seen) then
            -- Under the lock and after the search, this call vouches for all there is.
            select a.verdict, a.base_offset, a.created_at,
                   octet_length(f.keys) + octet_length(f.frames)
            into v_appended, "offset", created_at, v_bytes
            from queen_store.encode_frames(
                array[v_replay_id], array[coalesce(p_payload, v_letter.payload)],
                array[v_letter.trace_id], v_letter.producer, null) f
            cross join lateral queen_store.append(
                array[partition_id], array[hashtextextended(gen_random_uuid()::text, 0)],
                array[-1::bigint], array[v_last], array[null::bigint], array[1],
                array[f.message_count], array[f.keys],
                -- Whether the payload is an envelope, or no JSON, the flags alone can tell.
                array[set_byte(
                    f.frames, 4, get_byte(f.frames, 4) | (v_letter.flags & 64)::integer
                        | case when v_is_envelope then 32 else 0 end)],
                true) a;
            if v_appended is distinct from 'queued' then
                raise exception using errcode = 'QN503', message = 'busy',
                    detail = 'the queue it was to go to was deleted meanwhile';
            end if;
            delete from queen_store.dead_letters d where d.id = p_id;
            perform queen_store.count_dead_letters_gone(
                array[v_letter.queue_id], array[v_letter.group_name]);
            perform queen_store.add_counts(
                array[queue_id], array[0], null, array[1::bigint], null, null, null, null,
                array[v_bytes], false);
            message_id := queen_store.message_id(created_at, partition_id, "offset");
            verdict := 'moved';
            return next;
            return;
        end if;
    end if;
    -- What is in the lane may be the copy that another has made since the row was read.
    verdict := case when exists (select from queen_store.dead_letters d where d.id = p_id)
                    then 'duplicate' else 'gone' end;
    return next;
end
$$;
comment on function queen_store.replay_dead_letter(uuid, bigint, text, text, bytea, boolean) is
    'Moves a dead letter to the end of a lane, once however often it is called. Locks: advisory on the names of a missing queue and lane; queues and partitions: new rows; partitions: one row; dead_letters: the row, a leaf; epochs as append; waits up to 1 s each.';

-- queen_store.count_dead_letters_gone: says that dead letters have been taken away.
-- Called by  delete_dead_letter, delete_dead_letters, replay_dead_letter
-- Locks      none: count_deltas: new rows
-- Returns    nothing
-- Cost       that of add_counts, and one index probe per dead letter
create or replace function queen_store.count_dead_letters_gone(
    p_queue_ids integer[], p_groups text[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    perform queen_store.add_counts(
        array_agg(i.queue_id), array_agg(coalesce(g.id, 0)), null, null, null, null, null,
        array_agg(-1::bigint), null, false)
    from unnest(p_queue_ids, p_groups) i (queue_id, group_name)
    left join lateral (
        select g.id
        from queen_store.groups g
        where g.queue_id = i.queue_id and g.name = i.group_name
        limit 1) g on true;
end
$$;
comment on function queen_store.count_dead_letters_gone(integer[], text[]) is
    'Says that dead letters have been taken away. Locks: none: count_deltas: new rows.';
