-- Which brokers are there, and how do they fare? As of their last reports (METRICS_FLUSH_MS); one
-- that has not reported for two minutes, or twice the time between its reports, is left out.
create or replace view queen.brokers as
select
    s.name as broker,
    s.port,
    s.version,
    s.started_at,
    s.sampled_at,
    s.messages,
    s.parked,
    round(s.tick_lag_us / 1000.0, 2) as tick_lag_ms,
    round(s.cpu_user + s.cpu_system, 2) as cpu_percent,
    s.resident_bytes,
    s.pool_size,
    s.pool_active,
    s.pool_idle,
    s.pool_waiting
from queen_store.last_samples(interval '2 minutes') s;

comment on view queen.brokers is 'Brokers that are there, as they reported last.';
comment on column queen.brokers.broker is 'QUEEN_SERVER_ID, else the name of its host.';
comment on column queen.brokers.port is 'Where its HTTP API listens.';
comment on column queen.brokers.version is 'Version of the broker.';
comment on column queen.brokers.started_at is 'When it began to report.';
comment on column queen.brokers.sampled_at is 'When it reported last; what follows is as of then.';
comment on column queen.brokers.messages is 'Messages pushed, delivered and acknowledged since the report before.';
comment on column queen.brokers.parked is 'Pops that waited for messages.';
comment on column queen.brokers.tick_lag_ms is 'How late a tick of 100 ms came, on average: above some milliseconds its machine is short of processors.';
comment on column queen.brokers.cpu_percent is 'Processor time it used, in percent of one processor.';
comment on column queen.brokers.resident_bytes is 'Memory of the process that is in the machine''s.';
comment on column queen.brokers.pool_size is 'Connections it may open.';
comment on column queen.brokers.pool_active is 'Connections in use.';
comment on column queen.brokers.pool_idle is 'Connections open and not in use.';
comment on column queen.brokers.pool_waiting is 'Threads that waited for a connection.';
