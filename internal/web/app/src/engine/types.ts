// What the server says of itself (docs/page.md).

/** GET engine. */
export interface Info {
  version: string;
  address: string;
  transports: { name: string; words: string; detail?: string }[];
  workers: number;
  cores: number;
  heartbeat_seconds: number;
  memory_limit_bytes: number;
  load: { allowed: boolean; max_clients: number; max_seconds: number; policies?: string[]; collections?: string[] };
}

/** A client of the load, by its own counters. */
export interface Client {
  name: string;
  transport: string;
  policy: string;
  messages_per_second: number;
  offloaded_per_second: number;
  fell_back_per_second: number;
  offloaded_share: number;
  reads_per_second: number;
  restarts_per_second: number;
  torn_reads_per_second: number;
  p50_us: number;
  p99_us: number;
  /** Searches of up to 2^i us; the last one has all others. */
  histogram: number[];
}

/** What is asked over HTTP or gRPC. */
export interface Service {
  name: 'http' | 'grpc';
  requests_per_second: number;
  failed_per_second: number;
  p50_us: number;
  p99_us: number;
  streams: number;
}

/** Which group of servers has how much of a store, and what moves. */
export interface StoreMap {
  version: number;
  epoch: number;
  groups: { name: string; slots: number; frozen: number }[];
  moves: { from: string; to: string; step: string; parts: number }[];
}

/** Event snapshot of engine/events. */
export interface Snapshot {
  at: string;
  seconds: number;
  server: {
    cpu: number;
    own_cpu: number;
    busy: number;
    waiting: number;
    transports: { name: string; connections: number; read_channels: number; messages_per_second: number }[];
    services: Service[];
  };
  load: { clients: number; seconds: number; collection: string; policy: string; state: 'starting' | 'running'; elapsed_seconds: number; pause_ms: number } | null;
  clients: Client[];
  /** Missing: this server has a store of its own. */
  map?: StoreMap;
  ended?: string;
}
