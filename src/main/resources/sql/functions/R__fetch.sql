-- Reading the log from offsets on, as connectors do: no lease is taken and no cursor moves.

-- queen_store.fetch: segments of lanes from an offset on each, for one call.
-- Called by  FetchProcedures
-- Locks      none
-- Returns    per input at least one row, with the bounds of its lane and a segment or null: those
--            from the one that holds the offset on, until p_max_bytes of it or p_total_bytes of all
--            are reached, which the first may exceed; at most its share of 10,000 segments, at
--            least 10. verdict unknown = no such queue; empty = no such lane in it; out_of_range =
--            the offset is below what is kept, or beyond the next one
-- Cost       1 statement: per lane 3 index probes and a range of its segments; only what is
--            returned is decompressed
create or replace function queen_store.fetch(
    p_tenant_id uuid, p_queues text[], p_partitions text[], p_offsets bigint[],
    p_max_bytes integer[], p_total_bytes integer)
returns table (
    ordinal integer, verdict text, partition_id bigint, log_start bigint, last_offset bigint,
    base_offset bigint, created_at timestamptz, keys bytea, frames bytea)
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
    v_segments_max integer := greatest(10000 / greatest(cardinality(p_queues), 1), 10);
begin
    return query
    with lane as materialized (
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
    place as materialized (
        select l.ordinal, l.id, l.max_bytes, s.base_offset, s.bytes,
               sum(s.bytes) over (
                   partition by l.ordinal order by s.base_offset rows unbounded preceding)
                   - s.bytes as before
        from lane l
        cross join lateral (
            select coalesce((
                select s.base_offset
                from queen_store.segments s
                where s.partition_id = l.id and s.base_offset <= l."offset"
                order by s.base_offset desc
                limit 1), l."offset") as base_offset
            offset 0) f
        cross join lateral (
            select s.base_offset, octet_length(s.keys) + octet_length(s.frames) as bytes
            from queen_store.segments s
            where s.partition_id = l.id and s.base_offset >= f.base_offset
              and s.end_offset >= l."offset" and s.frames is not null
            order by s.base_offset
            limit v_segments_max) s
        where l.verdict = 'ok' and l."offset" <= l.last_offset
    ),
    taken as materialized (
        select t.ordinal, t.id, t.base_offset
        from (
            select p.ordinal, p.id, p.base_offset,
                   sum(p.bytes) over (
                       order by p.ordinal, p.base_offset rows unbounded preceding)
                       - p.bytes as before
            from place p
            where p.before < p.max_bytes) t
        where t.before < p_total_bytes
    )
    select l.ordinal::integer, l.verdict, l.id, l.log_start, l.last_offset, s.base_offset,
           s.created_at, s.keys, s.frames
    from lane l
    left join taken t on t.ordinal = l.ordinal
    left join lateral (
        select s.base_offset, s.created_at, s.keys, s.frames
        from queen_store.segments s
        where s.partition_id = t.id and s.base_offset = t.base_offset
        limit 1) s on true
    order by l.ordinal, s.base_offset;
end
$$;
comment on function queen_store.fetch(uuid, text[], text[], bigint[], integer[], integer) is
    'Segments of lanes from an offset on each, without consuming anything. Locks: none.';
