-- Reading the log from offsets on, as connectors do: no lease is taken and no cursor moves.

-- queen_store.find_segments: which segments of lanes are to be read from an offset on each, for one
-- call. What is in them is read once it is known that they are enough, and that there is room.
-- Called by  FetchProcedures
-- Locks      none
-- Returns    per input at least one row, with the bounds of its lane and a segment or null: those
--            from the one that holds the offset on, until p_max_bytes of it or p_total_bytes of all
--            are reached, which the first may exceed; at most its share of 10,000 segments, at
--            least 10. verdict unknown = no such queue; empty = no such lane in it; out_of_range =
--            the offset is below what is kept, or beyond the next one
-- Cost       1 statement: per lane 3 index probes, and its segments 50 at a time for as long as
--            there are bytes left; nothing is decompressed
create or replace function queen_store.find_segments(
    p_tenant_id uuid, p_queues text[], p_partitions text[], p_offsets bigint[],
    p_max_bytes integer[], p_total_bytes integer)
returns table (
    ordinal integer, verdict text, partition_id bigint, log_start bigint, last_offset bigint,
    base_offset bigint, messages integer, bytes integer)
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
declare
    -- Read at once: a sum that is taken as one goes would be taken of all of them first.
    v_step constant integer := 50;
    v_segments_max constant integer := greatest(
        10000 / greatest(cardinality(p_queues), 1), 10);
begin
    return query
    with recursive lane as materialized (
        select i.ordinal, i."offset", i.max_bytes, p.id, coalesce(p.log_start, 0) as log_start,
               coalesce(p.last_offset, -1) as last_offset,
               case when q.id is null then 'unknown'
                    when p.id is null then 'empty'
                    when i."offset" not between p.log_start and p.last_offset + 1
                        then 'out_of_range'
                    else 'ok' end as verdict
        from unnest(p_queues, p_partitions, p_offsets, p_max_bytes)
            with ordinality i (queue, partition, "offset", max_bytes, ordinal)
        left join lateral (
            select q.id
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.name = i.queue and q.deleted_at is null
            limit 1) q on true
        left join lateral (
            select p.id, p.log_start, p.last_offset
            from queen_store.partitions p
            where p.queue_id = q.id and p.name = i.partition
            limit 1) p on true
    ),
    step (ordinal, id, "offset", max_bytes, next_base, before, taken, bases, ends, sizes) as (
        select l.ordinal, l.id, l."offset", l.max_bytes,
               coalesce((
                   select s.base_offset
                   from queen_store.segments s
                   where s.partition_id = l.id and s.base_offset <= l."offset"
                   order by s.base_offset desc
                   limit 1), l."offset"),
               0::bigint, 0, '{}'::bigint[], '{}'::bigint[], '{}'::integer[]
        from lane l
        where l.verdict = 'ok' and l."offset" <= l.last_offset
        union all
        select t.ordinal, t.id, t."offset", t.max_bytes, n.next_base, t.before + n.bytes,
               t.taken + cardinality(n.bases), n.bases, n.ends, n.sizes
        from step t
        cross join lateral (
            select array_agg(s.base_offset order by s.base_offset) as bases,
                   array_agg(s.end_offset order by s.base_offset) as ends,
                   array_agg(s.bytes order by s.base_offset) as sizes,
                   sum(s.bytes) as bytes, max(s.end_offset) + 1 as next_base
            from (
                select s.base_offset, s.end_offset,
                       octet_length(s.keys) + octet_length(s.frames) as bytes
                from queen_store.segments s
                where s.partition_id = t.id and s.base_offset >= t.next_base
                  and s.end_offset >= t."offset" and s.frames is not null
                order by s.base_offset
                limit least(v_step, v_segments_max - t.taken)) s) n
        where t.before < t.max_bytes and t.taken < v_segments_max and n.bases is not null
    ),
    place as materialized (
        select s.ordinal, s.max_bytes, s.base_offset, s.bytes,
               (s.end_offset - greatest(s.base_offset, s."offset") + 1)::integer as messages,
               sum(s.bytes) over (
                   partition by s.ordinal order by s.base_offset rows unbounded preceding)
                   - s.bytes as before
        from (
            select t.ordinal, t.max_bytes, t."offset", i.base_offset, i.end_offset, i.bytes
            from step t
            cross join lateral unnest(t.bases, t.ends, t.sizes)
                i (base_offset, end_offset, bytes)) s
    ),
    taken as materialized (
        select t.ordinal, t.base_offset, t.messages, t.bytes
        from (
            select p.ordinal, p.base_offset, p.messages, p.bytes,
                   sum(p.bytes) over (
                       order by p.ordinal, p.base_offset rows unbounded preceding)
                       - p.bytes as before
            from place p
            where p.before < p.max_bytes) t
        where t.before < p_total_bytes
    )
    select l.ordinal::integer, l.verdict, l.id, l.log_start, l.last_offset, t.base_offset,
           t.messages, t.bytes
    from lane l
    left join taken t on t.ordinal = l.ordinal
    order by l.ordinal, t.base_offset;
end
$$;
comment on function queen_store.find_segments(
    uuid, text[], text[], bigint[], integer[], integer) is
    'Which segments of lanes are to be read from an offset on each. Locks: none.';
