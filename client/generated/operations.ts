// Generated from the endpoint tables by build-operations.ts; do not edit.

/** What was accepted for an address, object by object. */
export type AcceptedAddress = {
  readonly data: {
    readonly ip: IpAddress;
    /** What happens to a packet that no rule matches. */
    readonly default: 'accept' | 'deny';
    /** Allow before deny, then by id. */
    readonly rules: readonly AcceptedRule[];
    readonly filters: readonly AcceptedFilter[];
  };
  readonly meta: {
    /** How many rules are listed. */
    readonly rules_count: number;
    /** How many filters are listed. */
    readonly filters_count: number;
    readonly limits: Limits;
    /** The newest generation that was accepted. */
    readonly accepted_generation: number;
    /** The newest that every edge serving it has in its kernel; null: no edge enforces for it, and what is accepted waits for one. */
    readonly live_generation: number | null;
    /** `full`: every edge that serves the address enforces. `partial`: one is out of service, lacks a device, or refused it. `none`: no edge enforces. */
    readonly enforcement: 'full' | 'partial' | 'none';
    readonly edges: readonly EdgeProgress[];
    readonly also_drops: AlsoDrops;
    readonly propagation: PropagationTime;
  };
};

/** A filter as accepted, and how far it has come. */
export type AcceptedFilter = {
  /** What a delete takes. Take it as it is: its format may change. */
  readonly key: string;
  /** Slug of the filter. */
  readonly type: string;
  /** Name for people. */
  readonly name: string;
  readonly port: Port;
  /** The group that owns it; null: it is the address’s own. */
  readonly managed_by_group: GroupRef | null;
  readonly settings: FilterSettings;
  readonly status: PropagationState;
};

/** A rule as accepted, and how far it has come. */
export type AcceptedRule = {
  /** What a delete takes. */
  readonly id: number;
  readonly action: RuleAction;
  /** As in a create. Later versions may add values. */
  readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any' | (string & {});
  /** An address or a CIDR block; null means any source. */
  readonly source_ip: string | null;
  readonly destination_ip: IpAddress;
  /** A port of tcp or udp; null means any port. Never 0. */
  readonly destination_port: number | null;
  /** The group that owns it; null: it is the address’s own. */
  readonly managed_by_group: GroupRef | null;
  /** A port of a game server as `SERVER:PORT`: the name of the server or its uuid, and the name of the port; `primary` is the first one. The rule follows it. Null: it has its port by number. */
  readonly named_port: string | null;
  /** The organisation’s own name for it, unique on the address. */
  readonly ref: string | null;
  /** When it ends by itself; null: never. */
  readonly expires_at: string | null;
  readonly status: PropagationState;
};

/** The thresholds that its target has since its traffic was accepted as usual, the name of the caller that accepted it, and the time. Null: it was not accepted. */
export type AcceptedTraffic = {
  readonly pps: number;
  readonly mbps: number;
  readonly by: string;
  readonly at: string;
};

export type Account = {
  readonly data: {
    readonly totp: boolean;
    readonly recovery_codes_left: number;
    readonly passkeys: ReadonlyArray<{
      readonly id: number;
      readonly name: string;
      readonly created_at: string;
      readonly last_used_at: string | null;
    }>;
  };
};

/** Whether the node accepted an instruction. */
export type Acknowledgement = {
  /** Whether the node took it. Not whether it is done. */
  readonly ok: boolean;
  /** Empty when accepted, else why not. */
  readonly message: string;
};

export type Acting = {
  /** Slug. */
  readonly organisation: string;
};

export type AddressChanged = {
  readonly data: {
    /** Of this change; undo takes it. */
    readonly generation: number;
    readonly created: ObjectNames;
    readonly deleted: ObjectNames;
  };
  /** What was accepted, and how long it propagates. */
  readonly message: string;
};

/** Numbers of own rules and filters, and what happens to them in words. A filter that gets other settings is changed. */
export type AddressDifference = {
  readonly created: number;
  readonly deleted: number;
  /** Rules that stay and get another ref or end, and filters that get other settings. */
  readonly changed: number;
  readonly unchanged: number;
  readonly changes: readonly DescribedChange[];
  /** New rules that change no verdict, and why. */
  readonly notes: readonly string[];
};

/** The difference that a write made. */
export type AddressReplaced = {
  readonly data: {
    readonly created: ObjectNames;
    readonly deleted: ObjectNames;
    /** Own rules and filters that stayed as they were. */
    readonly unchanged: number;
    readonly difference: AddressDifference;
  };
  /** What was accepted, and how long it propagates. */
  readonly message: string;
};

export type AddressReplacement = {
  /** As it was read; ignored. */
  readonly ip?: string;
  /** Ignored, so that a read can be sent back. A dry run evaluates its notes under this default. */
  readonly default?: string;
  /** All rules that the address shall have of its own; [] for none. */
  readonly rules: readonly ReplacementRule[];
  /** All filters that the address shall have of its own; [] for none. */
  readonly filters: readonly ReplacementFilter[];
};

/** Samples that a change concerns. */
export type Affected = {
  readonly samples: number;
  /** Addresses that they came from. */
  readonly sources: number;
  /** At most 20, most samples first. */
  readonly top: readonly AffectedSource[];
};

export type AffectedSource = {
  readonly source_ip: IpAddress;
  /** Number of the IP protocol. */
  readonly protocol: number;
  /** Null: it has none. */
  readonly port: number | null;
  readonly samples: number;
  /** Of late: it may be in use now. */
  readonly last_seen_at: string;
};

export type AgentState = {
  readonly data: {
    /** It has reported to control since it joined. */
    readonly connected: boolean;
    /** An edge: it enforces, and counts for live. Others: connected. */
    readonly live: boolean;
    /** Why an edge is not live, in words. */
    readonly reason: string | null;
  };
};

export type AgentStateRequest = {
  /** What the host is to be. */
  readonly kind: 'edge' | 'node' | 'collector';
  readonly name: string;
  /** Of its credential. */
  readonly secret: string;
};

/** Where players reach it. */
export type Allocation = {
  readonly ip: IpAddress;
  readonly port: number;
};

export type AllocationInput = {
  /** An address of the node. */
  readonly ip: string;
  /** A port. */
  readonly port: number;
  readonly protocols?: ReadonlyArray<'tcp' | 'udp'> | null;
  /** A variable of the egg that is set to the port. */
  readonly variable?: string | null;
  /** The use of the port. */
  readonly name?: string | null;
};

/** What drops packets to the address beside its rules, as far as is accepted. */
export type AlsoDrops = {
  /** Read before every allow rule. */
  readonly blocked_sources: readonly BlockedSourcesOf[];
  /** Read before allow rules without a source. */
  readonly geo_rules: readonly GeoRuleOf[];
  /** Read before everything else. */
  readonly baseline_rules: readonly BaselineRuleOf[];
};

/** Without its secret, which is shown once. */
export type ApiKey = {
  readonly id: number;
  /** The first characters of the key. */
  readonly hint: string;
  readonly name: string;
  readonly abilities: ReadonlyArray<'firewall.read' | 'firewall.manage' | 'attacks.read' | 'game-servers.read' | 'game-servers.manage' | 'game-servers.files' | 'game-servers.settings' | 'game-servers.create'>;
  /** Uuids of the servers that it sees; null: all. */
  readonly servers: readonly string[] | null;
  /** Uuids of those that it may instruct; null: all that it sees. */
  readonly managed_servers: readonly string[] | null;
  /** Networks that it is bound to; null: all holdings. */
  readonly prefixes: readonly string[] | null;
  /** Networks that it may be used from; null: anywhere. */
  readonly sources: readonly string[] | null;
  /** Null: never. */
  readonly expires_at: string | null;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  /** When it left the fleet file. */
  readonly suspended_at: string | null;
};

export type ApiKeyCreated = {
  readonly data: {
    readonly id: number;
    readonly name: string;
    /** The whole key. It is shown this once. */
    readonly secret: string;
  };
};

export type ApiKeyInput = {
  readonly name: string;
  readonly abilities: ReadonlyArray<'firewall.read' | 'firewall.manage' | 'attacks.read' | 'game-servers.read' | 'game-servers.manage' | 'game-servers.files' | 'game-servers.settings' | 'game-servers.create'>;
  /** Uuids of the servers that it sees; null: all. */
  readonly servers?: readonly string[] | null;
  /** Uuids of those that it may instruct; null: all that it sees. */
  readonly managed_servers?: readonly string[] | null;
  /** Networks that it is bound to; null: all holdings. */
  readonly prefixes?: readonly string[] | null;
  /** Networks that it may be used from; null: anywhere. */
  readonly sources?: readonly string[] | null;
  /** Null: never. */
  readonly expires_at?: string | null;
};

export type ApiKeyRevoked = {
  readonly data: {
    readonly id: number;
    readonly revoked_at: string;
  };
};

export type ApiKeys = {
  readonly data: readonly ApiKey[];
};

export type ApprovalInput = {
  /** The fingerprint of the key of the host, as the host shows it. */
  readonly fingerprint: string;
};

export type ApprovedHosts = {
  readonly data: {
    /** From where the host presented its token. */
    readonly addresses: readonly string[];
  };
};

export type ArchiveRequest = {
  readonly paths: readonly string[];
  /** The new archive, where nothing is. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly to: string;
  readonly format: 'zip' | 'tar' | 'tar.gz' | 'tar.zst';
};

/** Number of an autonomous system. */
export type Asn = number;

export type AsnInput = {
  readonly organisation?: string | null;
};

export type AsnPatch = {
  readonly organisation?: string | null;
};

/** One attack on one address. */
export type Attack = {
  /** For display and de-duplication; there is no detail operation. */
  readonly id: number;
  readonly destination_ip: IpAddress;
  readonly prefix: Prefix;
  /** Later versions may add values. */
  readonly attack_type: 'udp_flood' | 'tcp_syn_flood' | 'tcp_syn_ack_flood' | 'tcp_ack_flood' | 'tcp_rst_flood' | 'icmp_flood' | 'gre_flood' | 'ip_fragment_flood' | 'dns_amplification' | 'ntp_amplification' | 'ssdp_amplification' | 'memcached_amplification' | 'cldap_amplification' | 'chargen_amplification' | 'snmp_amplification' | 'portmap_amplification' | 'netbios_amplification' | 'mssql_amplification' | 'rip_amplification' | 'wsd_amplification' | 'coap_amplification' | 'arms_amplification' | 'plex_amplification' | 'multi_vector' | 'other_flood' | (string & {});
  /** Bits per second. */
  readonly peak_bps: number;
  /** For display; its format may change. */
  readonly peak_bps_formatted: string;
  /** Packets per second. */
  readonly peak_pps: number;
  /** For display; its format may change. */
  readonly peak_pps_formatted: string;
  readonly started_at: string;
  /** When the first edge confirmed a mitigation; null: none has. */
  readonly mitigated_at: string | null;
  /** Null while ongoing. */
  readonly ended_at: string | null;
  /** Runs on while ongoing. */
  readonly duration_seconds: number;
  /** Later versions may add values. */
  readonly status: 'ongoing' | 'ended' | (string & {});
};

export type AttackDetail = {
  readonly data: {
    readonly attack: Attack;
    /** What edges do or did against it, oldest first. */
    readonly mitigations: readonly AttackMitigation[];
    /** What mitigations of it have dropped, as far as edges have reported it, which they do every 15 s. What filters dropped that came with it is among the drops of the address. */
    readonly dropped: {
      readonly packets: number;
      readonly bytes: number;
    };
    /** What passed, and mitigations of it would have dropped that only observe. A packet counts once. */
    readonly would_drop: {
      readonly packets: number;
      readonly bytes: number;
    };
    /** Since when nothing is done against it because somebody said so; null: nobody did. */
    readonly cancelled_at: string | null;
    /** What is known of it besides; renewed every ten seconds. Null: nothing is kept. */
    readonly evidence: AttackEvidence | null;
    readonly usual: UsualTraffic | null;
    readonly accepted: AcceptedTraffic | null;
  };
};

export type AttackEvidence = {
  readonly detected_at: string;
  /** Since it began. */
  readonly detected_after_ms: number;
  /** Since it was detected; null: no edge has confirmed a mitigation. */
  readonly mitigated_after_ms: number | null;
  /** What it is made of, the largest part first. */
  readonly shares: ReadonlyArray<{
    /** Later versions may add values. */
    readonly attack_type: 'udp_flood' | 'tcp_syn_flood' | 'tcp_syn_ack_flood' | 'tcp_ack_flood' | 'tcp_rst_flood' | 'icmp_flood' | 'gre_flood' | 'ip_fragment_flood' | 'dns_amplification' | 'ntp_amplification' | 'ssdp_amplification' | 'memcached_amplification' | 'cldap_amplification' | 'chargen_amplification' | 'snmp_amplification' | 'portmap_amplification' | 'netbios_amplification' | 'mssql_amplification' | 'rip_amplification' | 'wsd_amplification' | 'coap_amplification' | 'arms_amplification' | 'plex_amplification' | 'multi_vector' | 'other_flood' | (string & {});
    readonly share: number;
  }>;
  readonly threshold: AttackThreshold | null;
  readonly peak_pps_bounds: Bounds | null;
  readonly peak_bps_bounds: Bounds | null;
  /** The packets of which the lists below are the largest parts; null: unknown. */
  readonly counted_packets: number | null;
  readonly top_sources: ReadonlyArray<{
    readonly source_ip: IpAddress;
    /** As far as they were counted; may be of samples. */
    readonly packets: number;
  }>;
  readonly top_source_ports: readonly TopPort[];
  readonly top_destination_ports: readonly TopPort[];
  readonly series: AttackSeries | null;
};

export type AttackMitigation = {
  /** As `explain` names it; null: an edge did it by itself. */
  readonly id: number | null;
  /** Which edge did it by itself, while control was away; null: control had all edges do it. */
  readonly edge: string | null;
  /** What it does, in words for people. */
  readonly action: string;
  /** `observe` marks what would have been dropped, and drops nothing. Later versions may add values. */
  readonly mode: 'enforce' | 'observe' | (string & {});
  readonly since: string;
  /** When it was withdrawn; null: it stands, as far as the edge has reported. */
  readonly until: string | null;
  /** Why it was withdrawn: the attack is over, nothing was reported of it any more, somebody cancelled, or settings say otherwise. Null: it stands, or an edge did it by itself. Later versions may add values. */
  readonly ended_because: 'over' | 'expired' | 'cancelled' | 'settings' | (string & {}) | null;
};

export type AttackPage = {
  /** Newest first, by start and then id. */
  readonly data: readonly Attack[];
  readonly links: {
    /** The first page. */
    readonly first: string;
    /** The last page. */
    readonly last: string;
    /** The page before; null on the first. */
    readonly prev: string | null;
    /** The page after; null on the last. Follow it until it is null. */
    readonly next: string | null;
  };
  readonly meta: {
    readonly current_page: number;
    readonly per_page: number;
    /** Attacks on all pages. */
    readonly total: number;
    /** Start of the window that was used. */
    readonly from: string;
    /** End of the window that was used. */
    readonly to: string;
    /** Whether `from` was raised to the earliest date the caller may see. */
    readonly from_clamped: boolean;
  };
};

/** What the address got over time: means of equal steps. */
export type AttackSeries = {
  readonly from: string;
  /** A second; longer where the attack was long. */
  readonly step_ms: number;
  readonly pps: readonly number[];
  readonly bps: readonly number[];
  /** By how much each of `pps` may be wrong because traffic was sampled (95 %). Null: every packet was counted. */
  readonly pps_error: readonly number[] | null;
  /** By how much each of `bps` may be wrong because traffic was sampled (95 %). Null: every packet was counted. */
  readonly bps_error: readonly number[] | null;
};

/** What its traffic exceeded: the threshold that was set, or a multiple of the usual traffic. Null: not known. */
export type AttackThreshold = {
  readonly pps: number;
  readonly bps: number;
};

export type AuditEntry = {
  readonly id: number;
  readonly at: string;
  /** Its slug; null: none. */
  readonly organisation: string | null;
  /** Later versions may add values. */
  readonly actor_kind: 'key' | 'user' | 'operator' | 'fleet' | 'system' | (string & {});
  readonly actor: string;
  readonly source: string | null;
  readonly request_id: string | null;
  readonly action: string;
  readonly target: string;
  readonly detail: {
    readonly [name: string]: unknown;
  };
  readonly generation: number | null;
};

export type AuditTrail = {
  /** Newest first. */
  readonly data: readonly AuditEntry[];
  readonly links: {
    /** The older page; null on the last. */
    readonly next: string | null;
  };
};

export type BaselineInput = {
  /** The rules. */
  readonly rules: readonly BaselineRule[];
};

export type BaselinePatch = {
  readonly rules?: readonly BaselineRule[] | null;
};

/** A firewall rule; one is made for each port. */
export type BaselineRule = {
  /** The verdict on a packet that matches. */
  readonly action: 'allow' | 'deny';
  /** icmp is ICMPv6 on IPv6. */
  readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
  /** A port, or an expression of ports; left out: any. */
  readonly destination_port?: string | number | null;
  /** An address or a CIDR; left out: any source. */
  readonly source_ip?: string | null;
};

/** A rule of the operator on the address's prefix. */
export type BaselineRuleOf = {
  readonly id: number;
  /** Later versions may add values. */
  readonly action: 'allow' | 'deny' | (string & {});
  readonly protocol: string;
  /** Null: any. */
  readonly source_ip: string | null;
  /** Null: any. */
  readonly destination_port: Port | null;
};

/** Networks to block. */
export type BlockRequest = {
  readonly sources: readonly string[];
  /** A held address or a prefix inside a holding. Left out or null: everything that the organisation holds, also later. */
  readonly target?: string | null;
  readonly note?: string;
  /** When they end by themselves. Left out or null: never. */
  readonly expires_at?: string | null;
};

export type BlockedListInput = {
  /** Dropped before any allow rule. */
  readonly sources: ReadonlyArray<{
    /** A network or an address. */
    readonly source: string;
    /** Why. */
    readonly note?: string;
    readonly expires_at?: string | null;
  }>;
};

export type BlockedListPatch = {
  readonly sources?: ReadonlyArray<{
    /** A network or an address. */
    readonly source: string;
    /** Why. */
    readonly note?: string;
    readonly expires_at?: string | null;
  }> | null;
};

/** A network whose packets are dropped. */
export type BlockedSource = {
  readonly id: number;
  /** Canonical; a single address without its length. */
  readonly source: string;
  /** The address or prefix; null: everything that the organisation holds. */
  readonly target: string | null;
  readonly note: string;
  readonly created_at: string;
  /** When it ends by itself; null: never. */
  readonly expires_at: string | null;
};

export type BlockedSources = {
  readonly data: readonly BlockedSource[];
  readonly meta: {
    /** The number that the organisation has in all. */
    readonly count: number;
    /** The number that it may have. */
    readonly limit: number;
  };
  readonly links: {
    /** The next page; null: the last. */
    readonly next: string | null;
  };
};

/** Blocked sources of one target. */
export type BlockedSourcesOf = {
  /** An address or a prefix; null: everything that the organisation holds. */
  readonly target: string | null;
  /** Sources that are blocked on it. */
  readonly count: number;
  /** The first of them; `listBlockedSources` has all. */
  readonly sources: readonly string[];
};

/** Between what a peak surely was: equal where every packet was counted. */
export type Bounds = {
  readonly low: number;
  readonly high: number;
};

export type BuildState = {
  /** Later versions may add values. */
  readonly state: 'waiting' | 'building' | 'built' | 'failed' | (string & {});
  readonly reason: string | null;
};

/** Who a request comes from, and what it may do. */
export type CallerView = {
  readonly data: {
    /** Its slug. */
    readonly organisation: string;
    readonly organisation_name: string;
    /** The name of the key, or of the person. */
    readonly key: string;
    readonly abilities: readonly string[];
    /** The areas that the organisation may use by API. */
    readonly flags: readonly string[];
    /** The addresses that it may change; null: all of the organisation. */
    readonly prefixes: readonly string[] | null;
    /** The game servers that it sees; null: all of the organisation. */
    readonly servers: readonly string[] | null;
    /** The limit of the key. */
    readonly requests_per_minute: number;
    /** Where the request came from, as control sees it. */
    readonly source_ip: IpAddress | null;
  };
};

/** A filter that the address can have. */
export type CatalogueEntry = {
  /** Slug; what a create takes. */
  readonly type: string;
  /** Name for people. */
  readonly name: string;
  /** Later versions may add values. */
  readonly category: 'protocols' | 'games' | (string & {});
};

/** The ports as they are now. */
export type ChangedServerPorts = {
  readonly data: ServerPortsData;
  /** The accepted change, and when it takes effect. */
  readonly message: string;
};

export type CollectorInput = {
  /** ADDRESS:PORT for sFlow, NetFlow and IPFIX over UDP. */
  readonly listen: string;
  /** Who may send. */
  readonly exporters: readonly Exporter[];
  /** The site whose edges count the same traffic. Default: that of the first edge. */
  readonly site?: string | null;
};

export type CollectorPatch = {
  readonly listen?: string | null;
  readonly exporters?: readonly Exporter[] | null;
  /** The site whose edges count the same traffic. Default: that of the first edge. */
  readonly site?: string | null;
};

export type CommandRequest = {
  /** One line for the console: 1 to 2048 characters (code points). A server in a container has a terminal, which takes 4095 bytes a line: a longer one, such as 2048 emoji, is refused by its node (502), never cut. */
  readonly command: string;
};

/** What a server wrote last. */
export type Console = {
  readonly data: ConsoleLines;
};

export type ConsoleLines = {
  /** Oldest first. Null: unknown, because the server is not provisioned or the node did not answer. */
  readonly lines: readonly string[] | null;
  /** Number of the last line. Each line has the next, also when its node begins anew it never goes back: by how much it rose says how many lines are new. Null: unknown. */
  readonly last_number: number | null;
};

export type CopyRequest = {
  /** A file or folder. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly from: string;
  /** A path where nothing is. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly to: string;
};

/** The reaction to an end by itself. */
export type CrashPolicy = {
  /** Whether it is started again. */
  readonly restart?: boolean;
  /** A crash this soon after another is counted with it. */
  readonly within_seconds?: number;
  /** Restarts after crashes that are counted together. */
  readonly tries?: number;
};

/** The object that decided. */
export type DecidedBy = {
  /** Later versions may add values. */
  readonly kind: 'rule' | 'group_rule' | 'server_port' | 'geo_rule' | 'baseline' | 'blocked_source' | 'filter' | 'mitigation' | (string & {});
  /** Its id; null where it has none to show. */
  readonly id: number | null;
  /** The group that it belongs to. */
  readonly managed_by_group: GroupRef | null;
  /** A port of a game server as `SERVER:PORT`: the name of the server or its uuid, and the name of the port; `primary` is the first one. The rule follows it. Null: it has its port by number. */
  readonly named_port: string | null;
};

export type DeclaredAllocationInput = {
  /** An address of the node. */
  readonly ip: string;
  /** A port. */
  readonly port: number;
  readonly protocols: ReadonlyArray<'tcp' | 'udp'> | null;
  /** A variable of the egg that is set to the port. */
  readonly variable: string | null;
  /** The use of the port. */
  readonly name: string | null;
};

export type DeclaredAsn = {
  /** An autonomous system number. */
  readonly asn: number;
  readonly organisation: string | null;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredAsnAnswer = {
  readonly data: DeclaredAsn;
};

export type DeclaredAsnsAnswer = {
  readonly data: readonly DeclaredAsn[];
};

export type DeclaredBaseline = {
  /** Where they hold. */
  readonly prefix: string;
  /** The rules. */
  readonly rules: readonly DeclaredBaselineRule[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredBaselineAnswer = {
  readonly data: DeclaredBaseline;
};

/** A firewall rule; one is made for each port. */
export type DeclaredBaselineRule = {
  /** The verdict on a packet that matches. */
  readonly action: 'allow' | 'deny';
  /** icmp is ICMPv6 on IPv6. */
  readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
  /** A port, or an expression of ports; left out: any. */
  readonly destination_port: string | number | null;
  /** An address or a CIDR; left out: any source. */
  readonly source_ip: string | null;
};

export type DeclaredBaselinesAnswer = {
  readonly data: readonly DeclaredBaseline[];
};

export type DeclaredBlockedList = {
  /** The organisation that blocks them. */
  readonly organisation: string;
  /** A network or an address that it holds, or `all`, also later. */
  readonly target: string;
  /** Dropped before any allow rule. */
  readonly sources: ReadonlyArray<{
    /** A network or an address. */
    readonly source: string;
    /** Why. */
    readonly note: string;
    readonly expires_at: string | null;
  }>;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredBlockedListAnswer = {
  readonly data: DeclaredBlockedList;
};

export type DeclaredBlockedListsAnswer = {
  readonly data: readonly DeclaredBlockedList[];
};

export type DeclaredCollector = {
  /** The name of the collector. */
  readonly name: string;
  /** ADDRESS:PORT for sFlow, NetFlow and IPFIX over UDP. */
  readonly listen: string;
  /** Who may send. */
  readonly exporters: readonly DeclaredExporter[];
  /** The site whose edges count the same traffic. Default: that of the first edge. */
  readonly site: string | null;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredCollectorAnswer = {
  readonly data: DeclaredCollector;
};

export type DeclaredCollectorsAnswer = {
  readonly data: readonly DeclaredCollector[];
};

/** The reaction to an end by itself. */
export type DeclaredCrashPolicy = {
  /** Whether it is started again. */
  readonly restart: boolean;
  /** A crash this soon after another is counted with it. */
  readonly within_seconds: number;
  /** Restarts after crashes that are counted together. */
  readonly tries: number;
};

export type DeclaredEdge = {
  /** The name by which the edge enrols. */
  readonly name: string;
  /** Where it stands. Default: its name. */
  readonly site: string;
  /** Network devices that packets from outside come in by. */
  readonly devices: readonly string[];
  /** Prefixes that it serves. Default: all. */
  readonly serves: readonly string[];
  /** Directions that it sees. */
  readonly sees: 'both' | 'inbound';
  /** limit: where several edges may see one datagram. */
  readonly fragments: 'reassemble' | 'limit';
  /** Always reachable on the edge host. */
  readonly management: readonly DeclaredManagementPort[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredEdgeAnswer = {
  readonly data: DeclaredEdge;
};

export type DeclaredEdgesAnswer = {
  readonly data: readonly DeclaredEdge[];
};

export type DeclaredExporter = {
  /** The exporter. */
  readonly ip: string;
  /** Where the exporter sends none. */
  readonly sampling_rate: number | null;
  /** The destinations of which it is believed. A new exporter has to say it; one without it stays as it is. */
  readonly prefixes: readonly string[] | 'all' | null;
};

export type DeclaredFirewallGeoRule = {
  /** The organisation that it is of. */
  readonly organisation: string;
  /** Given when it is made. */
  readonly id: number;
  /** deny: drop these. only: drop all others. */
  readonly action: 'deny' | 'only';
  /** Countries. */
  readonly countries: readonly string[];
  /** Autonomous systems. */
  readonly asns: readonly number[];
  /** Addresses, or prefixes, that are held. */
  readonly addresses: readonly string[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredFirewallGeoRuleAnswer = {
  readonly data: DeclaredFirewallGeoRule;
};

export type DeclaredFirewallGeoRulesAnswer = {
  readonly data: readonly DeclaredFirewallGeoRule[];
};

export type DeclaredFirewallGroup = {
  /** The organisation that it is of. */
  readonly organisation: string;
  /** How the file finds the group again. */
  readonly name: string;
  /** Its rules. */
  readonly rules: ReadonlyArray<{
    /** The verdict on a packet that matches. */
    readonly action: 'allow' | 'deny';
    /** icmp is ICMPv6 on IPv6. */
    readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
    /** A port, an expression of ports, or SERVER:PORT, which is followed. */
    readonly destination_port: string | number | null;
    /** An address or a CIDR; left out: any source. */
    readonly source_ip: string | null;
    /** Your own name for it, unique in the group; for one port. */
    readonly ref: string | null;
    /** A moment with an offset: "2026-01-01T00:00:00+00:00". */
    readonly expires_at: string | null;
    readonly note: string | null;
  }>;
  /** Its filters. */
  readonly filters: ReadonlyArray<{
    /** A filter of the catalogue. */
    readonly type: string;
    /** A port, or an expression of ports. */
    readonly port: string | number;
    /** Your own name for it, unique in the group; for one port. */
    readonly ref: string | null;
    /** A moment with an offset: "2026-01-01T00:00:00+00:00". */
    readonly expires_at: string | null;
    readonly note: string | null;
  }>;
  /** Addresses, or prefixes, that are held. */
  readonly addresses: readonly string[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredFirewallGroupAnswer = {
  readonly data: DeclaredFirewallGroup;
};

export type DeclaredFirewallGroupsAnswer = {
  readonly data: readonly DeclaredFirewallGroup[];
};

export type DeclaredHolding = {
  /** The organisation that holds it. */
  readonly organisation: string;
  /** Given when it is made. */
  readonly id: number;
  /** A network or an address. */
  readonly prefix: string;
  readonly asn: number | null;
  readonly service: number | null;
  readonly since: string | null;
  readonly until: string | null;
  readonly default: 'accept' | 'deny' | null;
  readonly thresholds: DeclaredScopeThresholds;
  readonly mitigation: 'off' | 'observe' | 'on' | null;
  /** Sources that no mitigation touches; added to those around it. */
  readonly safelist: readonly string[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredHoldingAnswer = {
  readonly data: DeclaredHolding;
};

export type DeclaredHoldingsAnswer = {
  readonly data: readonly DeclaredHolding[];
};

export type DeclaredLibraryEgg = {
  /** The name that `egg` of a server takes. */
  readonly name: string;
  /** The egg as Pterodactyl or Pelican exports it, as JSON, with its scripts as they are. `readEgg` makes it of a URL or of YAML. */
  readonly document: {
    readonly [name: string]: unknown;
  };
  /** The URL that it came from, where newer ones are looked for. */
  readonly source: string | null;
  /** Whether owners of organisations may choose it. */
  readonly offered: boolean;
  /** The servers that were made from it. */
  readonly servers: number;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredLibraryEggAnswer = {
  readonly data: DeclaredLibraryEgg;
};

export type DeclaredLibraryEggsAnswer = {
  readonly data: readonly DeclaredLibraryEgg[];
};

export type DeclaredManagedFilter = {
  /** A filter. */
  readonly type: string;
  readonly ports: string | null;
};

export type DeclaredManagementPort = {
  /** Of the port. */
  readonly protocol: 'tcp' | 'udp';
  /** A port. */
  readonly port: number;
};

export type DeclaredNode = {
  /** The name by which the node enrols. */
  readonly name: string;
  /** MiB that it offers to servers that are placed. Default: without limit. */
  readonly memory: number | null;
  /** As of memory. */
  readonly disk: number | null;
  /** From which servers that are placed get a port. */
  readonly addresses: readonly string[];
  /** A port expression: those that such servers get. */
  readonly ports: string;
  /** Folders of its host for servers that name them. */
  readonly mounts: readonly DeclaredNodeMount[];
  /** Days for which it keeps the files of a deleted server; -1: until they are purged by hand. */
  readonly keep_days: number;
  /** The name or address at which people reach its SFTP. Default: the one address on which it listens, else its first address, else that of the server. */
  readonly sftp_host: string | null;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredNodeAnswer = {
  readonly data: DeclaredNode;
};

export type DeclaredNodeMount = {
  /** The name by which servers take it. */
  readonly name: string;
  /** A folder of the host. The node must offer it (`node --mounts`): control alone mounts nothing. */
  readonly source: string;
  /** Where servers see it in their container. */
  readonly target: string;
  /** Whether they only read it. */
  readonly read_only: boolean;
  /** Eggs whose servers may take it. Empty: any. */
  readonly eggs: readonly string[];
};

export type DeclaredNodesAnswer = {
  readonly data: readonly DeclaredNode[];
};

export type DeclaredOrganisation = {
  /** Its short name. */
  readonly slug: string;
  /** The name for people. */
  readonly name: string;
  /** Areas that are activated. */
  readonly flags: ReadonlyArray<'firewall_api' | 'attack_history_api'>;
  readonly limits: DeclaredOrganisationLimits;
  readonly thresholds: DeclaredScopeThresholds;
  readonly mitigation: 'off' | 'observe' | 'on' | null;
  /** Sources that no mitigation touches; added to those around it. */
  readonly safelist: readonly string[];
  /** What a billing system calls it. */
  readonly external_id: string | null;
  /** Those that it announces prefixes under. */
  readonly asns: readonly Asn[];
  /** How many it holds that are of no service. */
  readonly prefixes: number;
  /** How many it has. */
  readonly services: number;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredOrganisationAnswer = {
  readonly data: DeclaredOrganisation;
};

export type DeclaredOrganisationKey = {
  /** The organisation that it belongs to. */
  readonly organisation: string;
  /** Given when it is made. */
  readonly id: number;
  /** The name for people. A fleet file finds the key again by it. */
  readonly name: string;
  /** Abilities of the key. */
  readonly abilities: ReadonlyArray<'firewall.read' | 'firewall.manage' | 'attacks.read' | 'game-servers.read' | 'game-servers.manage' | 'game-servers.files' | 'game-servers.settings' | 'game-servers.create'>;
  readonly servers: readonly string[] | null;
  readonly managed_servers: readonly string[] | null;
  readonly prefixes: readonly string[] | null;
  readonly sources: readonly string[] | null;
  readonly expires_at: string | null;
  /** The whole key, in the answer that made it only: its hash is stored. If that answer is lost, revoke the key and create another. */
  readonly secret: string | null;
  /** The first characters of the key. */
  readonly hint: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  /** When it left the fleet file. */
  readonly suspended_at: string | null;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredOrganisationKeyAnswer = {
  readonly data: DeclaredOrganisationKey;
};

export type DeclaredOrganisationKeysAnswer = {
  readonly data: readonly DeclaredOrganisationKey[];
};

/** Its limits. */
export type DeclaredOrganisationLimits = {
  /** Rules per address */
  readonly rules_per_ip: number;
  /** Filters per address */
  readonly filters_per_ip: number;
  /** Ports per request */
  readonly max_ports_per_request: number;
  /** Attack history, days */
  readonly attack_history_days: number;
  /** Configured addresses */
  readonly configured_addresses: number;
  /** Requests per minute, of each key */
  readonly requests_per_minute: number;
  /** Servers that owners make */
  readonly own_servers: number;
  /** Memory of those together, MiB */
  readonly own_servers_memory: number;
  /** Processor of those together, % of a core */
  readonly own_servers_cpu: number;
  /** Disk of those together, MiB */
  readonly own_servers_disk: number;
};

export type DeclaredOrganisationsAnswer = {
  readonly data: readonly DeclaredOrganisation[];
};

export type DeclaredResponder = {
  /** How the file finds it again. */
  readonly name: string;
  readonly command: readonly string[] | null;
  /** An http or https URL that the attack is posted to as JSON. */
  readonly webhook: string | null;
  /** Sent as `Authorization: Bearer`, in a file best as ${NAME}; of webhooks only. It is not shown again. */
  readonly secret: string | null;
  readonly prefixes: readonly string[] | null;
  /** Only attacks whose peak is above either. Default: all. */
  readonly at: {
    /** Packets per second. */
    readonly pps: number | null;
    /** Megabits per second. */
    readonly mbps: number | null;
  };
  /** A call takes no longer. */
  readonly timeout_seconds: number;
  /** Taken back after so long, whatever the attack does. */
  readonly expires_seconds: number;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredResponderAnswer = {
  readonly data: DeclaredResponder;
};

export type DeclaredRespondersAnswer = {
  readonly data: readonly DeclaredResponder[];
};

/** When traffic is an attack; the nearest of address, service, prefix and organisation wins. Null: as of what is around it. */
export type DeclaredScopeThresholds = {
  /** Packets per second. */
  readonly pps: number | null;
  /** Megabits per second. */
  readonly mbps: number | null;
  /** How long it must stay below to have ended. */
  readonly hold_seconds: number | null;
};

export type DeclaredServer = {
  /** Its id for ever. */
  readonly uuid: string;
  /** The organisation that it belongs to. */
  readonly organisation: string;
  /** A service of the organisation. */
  readonly service: number;
  /** The name for people. */
  readonly name: string;
  /** The node that runs it. */
  readonly node: string;
  /** Its egg: a file beside the fleet file, or one of the library (`listEggs`). */
  readonly egg: string;
  /** SHA-256 of the parsed egg. Left out: of the egg that has the name now. */
  readonly egg_digest: string;
  /** The label of one of the egg's images. Null: the first. */
  readonly image: string | null;
  /** An image in place of those of the egg, with ~ in front of one that is never pulled. */
  readonly docker_image: string | null;
  /** A startup line in place of the egg's. */
  readonly startup: string | null;
  readonly variables: {
    readonly [name: string]: string;
  };
  readonly limits: DeclaredServerLimits;
  /** Its ports; the first one is SERVER_IP and SERVER_PORT. */
  readonly allocations: readonly DeclaredAllocationInput[];
  /** Its ports are allowed while it runs, whatever denies them. */
  readonly open_while_running: boolean | readonly string[];
  /** Mounts of its node that it sees. */
  readonly mounts: readonly string[];
  /** It must not run, and is not deleted. */
  readonly suspended: boolean;
  /** When its host was started: as it was before, it is started, or it stays off. */
  readonly start_with_host: 'as_before' | 'always' | 'never';
  /** Seconds from the stop of the egg to SIGTERM. Null: as the egg says. */
  readonly stop_seconds: number | null;
  readonly crashes: DeclaredCrashPolicy;
  readonly external_id: string | null;
  readonly build: BuildState;
  /** Settings that its people set, as JSON pointers. A fleet file that leaves them open keeps them. */
  readonly set_by_people: readonly string[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredServerAnswer = {
  readonly data: DeclaredServer;
};

export type DeclaredServerLimits = {
  /** MiB; 0: without limit. */
  readonly memory: number;
  /** Percent of one core; 0: without limit. */
  readonly cpu: number;
  /** MiB; 0: without limit. */
  readonly disk: number;
  /** MiB beyond its memory; -1: all that the host has. */
  readonly swap: number;
  /** Weight of its reads and writes of disks beside other servers. */
  readonly io: number;
  /** Cores of the host that it runs on: 0-3,6. Null: all. */
  readonly cores: string | null;
  /** Whether the kernel ends its processes when its memory is full. */
  readonly oom: boolean;
  /** Files, folders and links; 0: as many as its disk allows. */
  readonly entries: number;
  /** Ports in all when its people add some; 0: they add none. */
  readonly ports: number;
};

export type DeclaredServersAnswer = {
  readonly data: readonly DeclaredServer[];
};

export type DeclaredService = {
  /** The organisation that it belongs to. */
  readonly organisation: string;
  /** The number of the service, unique in the fleet. */
  readonly id: number;
  /** The name for people. */
  readonly name: string;
  /** Whether attacks on it are shown. */
  readonly active: boolean;
  /** Filters that it manages itself, on the ports of its game servers. */
  readonly managed_filters: readonly DeclaredManagedFilter[];
  readonly thresholds: DeclaredScopeThresholds;
  readonly mitigation: 'off' | 'observe' | 'on' | null;
  /** Sources that no mitigation touches; added to those around it. */
  readonly safelist: readonly string[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
};

export type DeclaredServiceAnswer = {
  readonly data: DeclaredService;
};

export type DeclaredServicesAnswer = {
  readonly data: readonly DeclaredService[];
};

export type DefaultChange = {
  /** A held address, or a prefix inside a holding. */
  readonly target: string;
  /** What happens to packets that no rule matches; null: as of a containing prefix. */
  readonly default: 'accept' | 'deny' | null;
};

export type DefaultChanged = {
  readonly data: {
    /** Canonical; an address without its length. */
    readonly target: string;
    /** What happens to packets that no rule matches; null: as of a containing prefix. */
    readonly default: 'accept' | 'deny' | null;
  };
  /** What was accepted, and how long it propagates. */
  readonly message: string;
};

export type DefaultPreview = {
  readonly data: {
    readonly ip: IpAddress;
    /** The default that is accepted now. */
    readonly default: 'accept' | 'deny';
    /** Most would be dropped first. */
    readonly ports: readonly PreviewedPort[];
  };
  /** The same in a sentence, and how far it can be trusted. */
  readonly message: string;
  readonly meta: {
    /** The samples are from here on; at most a day. */
    readonly from: string;
    readonly to: string;
    /** Edges sample packets of connections that were not answered yet, and one of so many others. */
    readonly sampled_one_in: number;
    /** All that were looked at. */
    readonly samples: number;
    /** Of those, what is dropped now by something else. */
    readonly denied_already: number;
    /** The edges that sampled them. */
    readonly edges: readonly string[];
    /** False: there were more, and these are the most. */
    readonly is_complete: boolean;
  };
};

export type DeleteFilesRequest = {
  readonly paths: readonly string[];
  /** Not to the bin, but for good. */
  readonly permanently?: boolean;
};

export type DeletedFile = {
  readonly id: string;
  readonly path: string;
  /** A `link` is shown and never followed. Later versions may add values. */
  readonly type: 'file' | 'folder' | 'link' | 'other' | (string & {});
  /** Bytes; 0 for a folder. */
  readonly size: number;
  readonly deleted_at: string;
};

export type DeletedFiles = {
  /** The newest first. */
  readonly data: readonly DeletedFile[];
  readonly meta: DeletedFilesMeta;
};

export type DeletedFilesMeta = {
  /** After so many days one is removed for good. */
  readonly days: number;
};

/** A server whose files are still on a node that it is no longer assigned to. */
export type DeletedServer = {
  readonly uuid: string;
  readonly name: string;
  /** The slug of its last organisation. */
  readonly organisation: string;
  /** Where its files are. */
  readonly node: string;
  readonly external_id: string | null;
  readonly deleted_at: string;
  /** When its files are purged. Null: not before that is requested. */
  readonly purge_at: string | null;
  /** Until then, begun ones too; 0: the node purges it now. */
  readonly days_left: number | null;
  /** It lives on another node; these are the files that it left behind. */
  readonly moved: boolean;
};

export type DeletedServers = {
  /** Deleted servers, the first that is purged before the others. */
  readonly data: readonly DeletedServer[];
};

export type Deliveries = {
  /** Newest first, of the last seven days. */
  readonly data: readonly Delivery[];
  readonly links: {
    /** The older page; null on the last. */
    readonly next: string | null;
  };
};

export type Delivery = {
  readonly id: number;
  /** The header `webhook-id`: the same for every attempt and every redelivery. */
  readonly message_id: string;
  /** Later versions may add values. */
  readonly event: 'attack.opened' | 'attack.mitigated' | 'attack.ended' | 'attack.looks_usual' | 'server.state' | 'server.crashed' | 'propagation.failed' | 'webhook.test' | (string & {});
  /** Such as an address or a uuid of a server. */
  readonly target: string;
  /** `skipped`: never tried, because too many deliveries waited already. Later versions may add values. */
  readonly state: 'pending' | 'delivered' | 'failed' | 'skipped' | (string & {});
  /** When the event happened, or was delivered again. */
  readonly created_at: string;
  /** Null: there is none. */
  readonly next_attempt_at: string | null;
  /** In order. */
  readonly attempts: readonly DeliveryAttempt[];
  /** False while it is pending. */
  readonly can_redeliver: boolean;
};

export type DeliveryAttempt = {
  readonly at: string;
  readonly duration_ms: number;
  /** Null: there was no answer. */
  readonly response_status: number | null;
  /** Null: it succeeded. */
  readonly error: string | null;
};

export type DeliveryStarted = {
  readonly data: {
    /** Id of the new delivery. */
    readonly id: number;
  };
};

/** A change of rules that differ only in their ports, or of filters of one type. */
export type DescribedChange = {
  readonly operation: 'add' | 'remove' | 'change';
  /** `marks`: the ref, the end or the note of a rule alone, which no packet meets. */
  readonly effect: 'opens' | 'closes' | 'filters' | 'marks';
  /** The object as one can paste it, and what to know of it. */
  readonly text: string;
  /** Null: it is a filter. */
  readonly rule: DescribedRule | null;
  /** Null: it is a rule. */
  readonly filter: DescribedFilter | null;
};

export type DescribedFilter = {
  readonly type: string;
  /** A port expression. */
  readonly port: string;
};

export type DescribedRule = {
  readonly action: 'allow' | 'deny';
  readonly protocol: string;
  /** A port expression or `SERVER:PORT`; null: any. */
  readonly destination_port: string | null;
  /** Null: any. */
  readonly source_ip: string | null;
  readonly ref: string | null;
  readonly expires_at: string | null;
};

export type Done = {
  readonly data: {
    readonly done: boolean;
  };
};

export type DropMinute = {
  /** Begin of the minute in which the edge counted. */
  readonly at: string;
  /** Packets dropped. */
  readonly packets: number;
  /** Their bytes, from the IP header on. */
  readonly bytes: number;
};

export type DropTotal = {
  /** What of the firewall dropped. `policy`: the operator’s baseline, geo rules and rules together. Later versions may add values. */
  readonly stage: 'fragment-limits' | 'mitigations' | 'policy' | 'filters' | (string & {});
  /** Why, as a slug, such as `denied`, `geo`, `rate` or `unvalidated`. New ones may be added: show what is there. */
  readonly reason: string;
  /** `xdp`: early, before the network stack, by XDP or at tc ingress. `nftables`: in the packet filter of the edge. Later versions may add values. */
  readonly by: 'xdp' | 'nftables' | (string & {});
  /** Packets dropped. */
  readonly packets: number;
  /** Their bytes, from the IP header on. */
  readonly bytes: number;
};

/** One packet that an edge dropped. Source addresses may be forged. */
export type DroppedPacket = {
  readonly at: string;
  /** The edge that dropped it. */
  readonly edge: string;
  /** What of the firewall dropped. `policy`: the operator’s baseline, geo rules and rules together. Later versions may add values. */
  readonly stage: 'fragment-limits' | 'mitigations' | 'policy' | 'filters' | (string & {});
  /** Why, as a slug, such as `denied`, `geo`, `rate` or `unvalidated`. New ones may be added: show what is there. */
  readonly reason: string;
  /** `xdp`: early, before the network stack, by XDP or at tc ingress. `nftables`: in the packet filter of the edge. Later versions may add values. */
  readonly by: 'xdp' | 'nftables' | (string & {});
  readonly source_ip: IpAddress;
  readonly source_port: number | null;
  readonly destination_port: number | null;
  /** Number of the IP protocol. */
  readonly protocol: number;
  /** Bytes from the IP header on. */
  readonly length: number;
  /** Where it came in; null: not known. */
  readonly device: string | null;
};

/** What edges dropped of the packets to an address. */
export type Drops = {
  readonly data: {
    readonly ip: IpAddress;
    /** What passed, and mitigations would have dropped that only observe (`mitigation: observe`). Part of no other number here. */
    readonly observed: {
      readonly packets: number;
      readonly bytes: number;
    };
    /** What filters let through. Part of no other number here. */
    readonly filters: {
      /** Packets of new sources that passed. */
      readonly greeted: number;
      /** Sources that a reply of the server validated, or that completed a handshake. */
      readonly validated: number;
    };
    /** By what dropped and why, largest first. */
    readonly totals: readonly DropTotal[];
    /** What was dropped by the policies of prefixes around the address, for any address in them: the early drop counts no finer there. Not part of any other number here. */
    readonly prefixes: readonly PrefixDropTotal[];
    /** Minutes in which something was dropped, oldest first. */
    readonly series: readonly DropMinute[];
    /** A sample of the packets, newest first. */
    readonly samples: readonly DroppedPacket[];
  };
  readonly meta: {
    /** The window that was used. */
    readonly from: string;
    readonly to: string;
    /** Whether `from` was raised to the oldest moment that is kept, or to when the address became the caller’s. */
    readonly from_clamped: boolean;
    /** All packets dropped in the window. */
    readonly packets: number;
    /** All bytes dropped in the window. */
    readonly bytes: number;
    /** Names of the edges that dropped them. */
    readonly edges: readonly string[];
  };
};

export type DryRun = {
  readonly data: {
    readonly ip: IpAddress;
    readonly dropped: Affected;
    readonly reconnecting: Affected;
  };
  /** The same in a sentence. */
  readonly message: string;
  readonly meta: {
    /** The samples are from here on; at most a day. */
    readonly from: string;
    readonly to: string;
    /** Edges sample packets of connections that were not answered yet, and one in this number of the others. */
    readonly sampled_one_in: number;
    /** The edges that sampled them. */
    readonly edges: readonly string[];
    /** False: there were more, and these are the most. */
    readonly is_complete: boolean;
    /** All that were looked at. */
    readonly samples: number;
  };
};

/** What would be added to the address. */
export type DryRunInput = {
  /** As they are created. */
  readonly rules?: readonly RuleInput[];
  /** As they are created. */
  readonly filters?: readonly FilterInput[];
  readonly default?: 'accept' | 'deny';
};

export type Edge = {
  readonly name: string;
  readonly site: string;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
  /** By which packets come in. */
  readonly devices: readonly string[];
  readonly serves: readonly string[];
  /** Later versions may add values. */
  readonly sees: 'both' | 'inbound' | (string & {});
  /** Later versions may add values. */
  readonly fragments: 'reassemble' | 'limit' | (string & {});
  /** `no_device`: no packet can come in by its devices, so it enforces nothing. Null: it never connected. Later versions may add values. */
  readonly mode: 'enforce' | 'observe' | 'no_device' | (string & {}) | null;
  readonly mode_reason: string | null;
  readonly in_service: boolean;
  readonly last_seen_at: string | null;
  readonly generation: number;
  readonly accepted_generation: number;
  readonly lag_ms: number;
  readonly refused: ReadonlyArray<{
    readonly target: string;
    readonly reason: string;
    readonly good_generation: number;
  }>;
  /** Its last report: policies, kernel state, problems, devices. */
  readonly report: {
    readonly [name: string]: unknown;
  } | null;
};

/** What an edge does with the packet, by what its kernel was given. */
export type EdgeAnswer = {
  readonly verdict: 'pass' | 'drop';
  /** The stage that decided; `default`: no rule matched, so the default of the address did. Later versions may add values. */
  readonly stage: 'management' | 'needed-icmp' | 'fragment-limits' | 'return-traffic' | 'mitigations' | 'baseline' | 'blocked-sources' | 'named-allows' | 'geo' | 'rules' | 'default' | 'filters' | (string & {});
  /** Null: no object, the stage itself decided. */
  readonly decided_by: DecidedBy | null;
  /** The same in words. */
  readonly explanation: string;
  /** `observe`: it drops nothing. `no_device`: neither does it, because no packet can come in by its devices. */
  readonly mode: 'enforce' | 'observe' | 'no_device';
  /** The generation of the policy that was evaluated. */
  readonly generation: number;
  /** Whether it evaluates the accepted policy of the address. */
  readonly up_to_date: boolean;
  /** `disturbed`: somebody else changed what the edge put into its kernel, and it is not mended yet. `unknown`: the edge cannot look. Later versions may add values. */
  readonly kernel: 'undisturbed' | 'disturbed' | 'unknown' | (string & {});
};

export type EdgeInput = {
  /** Where it stands. Default: its name. */
  readonly site?: string;
  /** Network devices that packets from outside come in by. */
  readonly devices: readonly string[];
  /** Prefixes that it serves. Default: all. */
  readonly serves?: readonly string[];
  /** Directions that it sees. */
  readonly sees?: 'both' | 'inbound';
  /** limit: where several edges may see one datagram. */
  readonly fragments?: 'reassemble' | 'limit';
  /** Always reachable on the edge host. */
  readonly management?: readonly ManagementPort[];
};

export type EdgePatch = {
  readonly site?: string | null;
  readonly devices?: readonly string[] | null;
  readonly serves?: readonly string[] | null;
  readonly sees?: 'both' | 'inbound' | null;
  readonly fragments?: 'reassemble' | 'limit' | null;
  readonly management?: readonly ManagementPort[] | null;
};

/** How far an edge that serves the address has come. */
export type EdgeProgress = {
  /** Name of the edge. */
  readonly name: string;
  /** The newest generation of this address that it has. */
  readonly generation: number;
  /** Whether it counts for what is live. */
  readonly in_service: boolean;
  /** Why it could not apply this address; null: it applied it. */
  readonly refused: string | null;
};

export type EdgeVerdict = {
  /** Name of the edge. */
  readonly name: string;
  /** Whether it counts for what is live. */
  readonly in_service: boolean;
  /** Null: it did not answer in time. */
  readonly answer: EdgeAnswer | null;
};

export type Egg = {
  /** The name that `egg` of a server takes. */
  readonly name: string;
  /** SHA-256 of the parsed egg: `egg_digest` of a server. */
  readonly digest: string;
  /** A `data:` URI of an image. */
  readonly icon: string | null;
  readonly author: string | null;
  readonly description: string;
  /** Their labels. */
  readonly images: readonly string[];
  readonly variables: readonly EggVariable[];
  /** With the first of its images. */
  readonly hosts: readonly EggHost[];
  readonly title: string;
};

/** The difference to the egg that the library has. */
export type EggChange = {
  /** Empty: nothing that has an effect here. */
  readonly fields: ReadonlyArray<{
    /** Such as `startup` or `variables.MOTD`. */
    readonly field: string;
    /** Null: there was none. */
    readonly before: string | null;
    /** Null: there is none any more. */
    readonly after: string | null;
  }>;
  /** Servers that were made from it. They keep the egg that they have. */
  readonly servers: ReadonlyArray<{
    readonly uuid: string;
    readonly name: string;
    readonly organisation: string;
    /** It has this very egg. */
    readonly current: boolean;
  }>;
};

/** A node of the fleet, and whether it can run the egg now. */
export type EggHost = {
  readonly node: string;
  readonly ok: boolean;
  /** Why not; null: it can. */
  readonly reason: string | null;
  /** What to run on its host, in order. */
  readonly commands: readonly string[];
  /** The image that has to be made first (`makeImage`). */
  readonly image: string | null;
};

/** Either url or text. */
export type EggSourceInput = {
  /** Where the file is. Only public addresses are fetched from. */
  readonly url?: string;
  /** The file itself, JSON or YAML. */
  readonly text?: string;
  /** An egg of the library that it would replace: the answer has the difference. */
  readonly name?: string;
};

/** A startup variable of an egg. */
export type EggVariable = {
  /** Its name in the environment. */
  readonly env: string;
  /** For people. */
  readonly name: string;
  /** For people; may be empty. */
  readonly description: string;
  readonly default: string;
  /** Rules, in the words of the egg. */
  readonly rules: readonly string[];
  readonly input: VariableInput;
  /** The people of a server see it. */
  readonly viewable: boolean;
  /** They may change it, if they see it. */
  readonly editable: boolean;
};

export type Eggs = {
  /** Eggs, by title. */
  readonly data: readonly ListedEgg[];
};

export type EmptyBinRequest = {
  readonly ids?: readonly string[];
};

export type EnforceCommand = {
  readonly data: {
    /** Null: the hosts of the fleet are started one by one, not by `portcullis up`. */
    readonly command: string | null;
  };
};

export type Event = {
  /** A number of the event; not the id for Last-Event-ID. */
  readonly id: number;
  readonly at: string;
  /** Later versions may add values. */
  readonly kind: 'write.accepted' | 'write.live' | 'propagation.failed' | 'attack.opened' | 'attack.mitigated' | 'attack.ended' | 'attack.looks_usual' | 'server.state' | 'server.crashed' | 'server.build' | 'gap' | (string & {});
  /** An address or prefix, the uuid of a server, or such as `group:3`. */
  readonly target: string;
  /** What the kind tells besides. */
  readonly data: {
    readonly [name: string]: unknown;
  };
};

/** A packet to the address of the path. */
export type ExplainRequest = {
  /** By name, or an IP protocol number. `icmp` is ICMPv6 for an IPv6 address. */
  readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | number;
  /** Where the packet comes from: an address of the same family. Left out: from anywhere; the answer says in `open_to` from where it passes, and no edge is asked. */
  readonly source_ip?: string | null;
  /** With tcp and udp; only mitigations look at it. */
  readonly source_port?: number;
  /** With tcp and udp, and required there: a port, or its name. A port of a game server as `SERVER:PORT`: the name of the server or its uuid, and the name of the port; `primary` is the first one. */
  readonly destination_port?: number | string;
  /** With icmp; default: an echo request. */
  readonly icmp_type?: number;
  /** With icmp; default 0. */
  readonly icmp_code?: number;
  /** Evaluate what was accepted, or what is live on every edge: nothing while no edge enforces. */
  readonly view?: 'accepted' | 'live';
  /** Evaluate what is accepted as this would change it; nothing is written, and what would refuse the change refuses it here. No edge is asked. */
  readonly change?: ExplainedChange | null;
};

/** A change of the address that is not made. */
export type ExplainedChange = {
  /** All rules that the address shall have of its own; [] for none. */
  readonly rules: readonly ReplacementRule[];
  /** All filters that the address shall have of its own; [] for none. */
  readonly filters: readonly ReplacementFilter[];
  readonly default?: 'accept' | 'deny';
  /** All sources that shall be blocked on this address itself. */
  readonly blocked?: readonly string[];
};

/** What happens to a packet, and why. */
export type Explanation = {
  readonly data: {
    readonly verdict: 'pass' | 'drop';
    /** The stage that decided; `default`: no rule matched, so the default of the address did. Later versions may add values. */
    readonly stage: 'management' | 'needed-icmp' | 'fragment-limits' | 'return-traffic' | 'mitigations' | 'baseline' | 'blocked-sources' | 'named-allows' | 'geo' | 'rules' | 'default' | 'filters' | (string & {});
    /** Null: no object, the stage itself decided. */
    readonly decided_by: DecidedBy | null;
    /** The same in words. */
    readonly explanation: string;
    /** Of a request without `source_ip`; null of others. */
    readonly open_to: OpenTo | null;
    /** Every edge that serves the address, asked just now. */
    readonly edges: readonly EdgeVerdict[];
    /** Where edges and what is accepted do not agree, a sentence each. */
    readonly differences: readonly string[];
    /** What edges dropped of all packets to the address in the last hour, by what dropped and why, largest first: filters too, which no single packet decides. */
    readonly dropped: readonly DropTotal[];
  };
};

export type Exporter = {
  /** The exporter. */
  readonly ip: string;
  /** Where the exporter sends none. */
  readonly sampling_rate?: number | null;
  /** The destinations of which it is believed. A new exporter has to say it; one without it stays as it is. */
  readonly prefixes?: readonly string[] | 'all' | null;
};

export type FileContent = {
  readonly data: FileContentData;
};

/** A file as it was read. */
export type FileContentData = {
  readonly path: string;
  /** `base64` for what is no text in UTF-8. Later versions may add values. */
  readonly encoding: 'utf-8' | 'base64' | (string & {});
  readonly content: string;
  /** Bytes; 0 for a folder. */
  readonly size: number;
  readonly modified_at: string;
  /** Permissions, in octal. */
  readonly mode: string;
};

/** A file or folder of a game server. */
export type FileEntry = {
  readonly name: string;
  readonly path: string;
  /** A `link` is shown and never followed. Later versions may add values. */
  readonly type: 'file' | 'folder' | 'link' | 'other' | (string & {});
  /** Bytes; 0 for a folder. */
  readonly size: number;
  readonly modified_at: string;
  /** Permissions, in octal. */
  readonly mode: string;
  /** The egg of the server denies it: nobody may read, change or delete it. */
  readonly denied: boolean;
  /** What its first bytes look like, where `content=true` asked for it. Later versions may add values. */
  readonly content: 'empty' | 'text' | 'image' | 'archive' | 'binary' | (string & {}) | null;
};

export type FileFailure = {
  readonly path: string;
  /** A sentence. */
  readonly reason: string;
};

/** A long operation on the files of a server. */
export type FileJob = {
  readonly id: string;
  /** Later versions may add values. */
  readonly kind: 'copy' | 'archive' | 'unpack' | 'pull' | (string & {});
  readonly path: string;
  /** Later versions may add values. */
  readonly state: 'running' | 'done' | 'failed' | 'cancelled' | (string & {});
  readonly started_at: string;
  /** Bytes so far. */
  readonly bytes: number;
  /** Bytes in the end; null: not known. */
  readonly total_bytes: number | null;
  /** Files so far. */
  readonly entries: number;
  /** Sentences: why it failed, and what was left out. */
  readonly notes: readonly string[];
};

export type FileJobAnswer = {
  readonly data: FileJob;
};

export type FileJobs = {
  /** The newest first, those that ended lately too. */
  readonly data: readonly FileJob[];
};

/** A link that is good once. */
export type FileLink = {
  readonly data: FileLinkData;
};

export type FileLinkData = {
  /** On the node itself; a secret. */
  readonly url: string;
  /** The time until which it can be used. */
  readonly expires_at: string;
};

/** A page of a folder. */
export type FileList = {
  /** Folders first, then in the order asked for. */
  readonly data: readonly FileEntry[];
  readonly meta: FileListMeta;
};

export type FileListMeta = {
  readonly current_page: number;
  readonly per_page: number;
  /** Entries of the folder. */
  readonly total: number;
  /** False: the folder has more entries than are listed. */
  readonly complete: boolean;
};

export type FileMode = {
  /** A file or folder. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly path: string;
  /** Permissions in octal. Set-user-id and the like are refused. */
  readonly mode: string;
};

export type FileMove = {
  /** What is moved. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly from: string;
  /** Its new path. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly to: string;
};

export type FileUpload = {
  readonly data: FileUploadData;
};

/** How far the upload of a file is. */
export type FileUploadData = {
  readonly path: string;
  /** Bytes that the node has. */
  readonly received: number;
  /** The size of the whole file; null where nothing was received. */
  readonly size: number | null;
  /** The file is whole, and has its name. */
  readonly done: boolean;
};

export type FileUse = {
  readonly name: string;
  /** A `link` is shown and never followed. Later versions may add values. */
  readonly type: 'file' | 'folder' | 'link' | 'other' | (string & {});
  /** On the disk: whole blocks, at least 4 KiB an entry. */
  readonly bytes: number;
  /** Files, folders and links. */
  readonly entries: number;
  /** False: there was no time to count all of it. */
  readonly complete: boolean;
};

/** The whole content of a file. */
export type FileWrite = {
  /** At most 4 MiB in bytes. */
  readonly content: string;
  readonly encoding?: 'utf-8' | 'base64';
  /** Permissions in octal. Set-user-id and the like are refused. */
  readonly mode?: string;
};

export type FileWritten = {
  readonly data: FileWrittenData;
};

export type FileWrittenData = {
  readonly path: string;
  /** Bytes; 0 for a folder. */
  readonly size: number;
  /** There was no file. */
  readonly created: boolean;
};

/** What became of each path. */
export type FilesChanged = {
  readonly data: FilesChangedData;
};

export type FilesChangedData = {
  /** Those that were done. */
  readonly done: readonly string[];
  /** Those that were not. A request that names one path is refused instead. */
  readonly failed: readonly FileFailure[];
};

export type FilesFound = {
  readonly data: readonly FoundFile[];
  readonly meta: FilesFoundMeta;
};

export type FilesFoundMeta = {
  /** False: time or a limit ended the search. */
  readonly complete: boolean;
};

export type FilesMeasured = {
  readonly data: FilesMeasuredData;
};

/** The disk use of a folder. */
export type FilesMeasuredData = {
  /** On the disk: whole blocks, at least 4 KiB an entry. */
  readonly bytes: number;
  /** Files, folders and links. */
  readonly entries: number;
  /** False: there was no time to count all of it. */
  readonly complete: boolean;
  /** What is in it, the largest first. */
  readonly children: readonly FileUse[];
};

/** One stateful filter on one port of an address. */
export type Filter = {
  /** What a delete takes. Take it as it is: its format may change. */
  readonly key: string;
  /** Slug of the filter. */
  readonly type: string;
  /** Name for people. */
  readonly name: string;
  readonly port: Port;
  /** The group that owns it; null: it is the address’s own. */
  readonly managed_by_group: GroupRef | null;
};

export type FilterCatalogue = {
  readonly data: readonly FilterEntry[];
};

export type FilterDeletion = {
  /** Keys of filters as read from this address. Others are skipped. */
  readonly keys: readonly string[];
};

/** A stateful filter. */
export type FilterEntry = {
  /** The slug. */
  readonly type: string;
  readonly name: string;
  /** Later versions may add values. */
  readonly category: 'protocols' | 'games' | (string & {});
  /** What it protects. */
  readonly description: string;
  /** What it filters on its port. Packets of another protocol pass as rules say. */
  readonly protocols: ReadonlyArray<'udp' | 'tcp' | (string & {})>;
  /** The default ports of servers; empty if there is none. */
  readonly usual_ports: readonly Port[];
  /** What it lets through, what it drops and what it cannot do. */
  readonly page: string;
};

/** A filter to create; one is made for every port of the expression. */
export type FilterInput = {
  /** A slug from the catalogue of the same address. */
  readonly type: string;
  /** The ports to filter: a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once. */
  readonly port: string;
};

/** What the holder has set on a filter. Null: as the filter has it. */
export type FilterSettings = {
  /** Packets per second of one source that is validated or has a connection. */
  readonly source_pps: number | null;
  /** New players per second, of all sources together: greetings on UDP, connections on TCP. Packets above it are dropped, and their clients try again, so that a launch queues at the edge. */
  readonly new_per_second: number | null;
  /** The shortest payload of a UDP packet, in bytes. */
  readonly min_length: number | null;
  /** The longest payload of a UDP packet, in bytes. */
  readonly max_length: number | null;
  /** The source ports that packets may come from. */
  readonly source_ports: string | null;
};

export type FilterSettingsChange = {
  /** Keys of own filters as read from this address. */
  readonly keys: readonly string[];
  readonly settings: FilterSettingsInput;
};

/** What is set on a filter. Null or absent: as the filter has it. */
export type FilterSettingsInput = {
  /** Packets per second of one source that is validated or has a connection. */
  readonly source_pps?: number | null;
  /** New players per second, of all sources together: greetings on UDP, connections on TCP. Packets above it are dropped, and their clients try again, so that a launch queues at the edge. */
  readonly new_per_second?: number | null;
  /** The shortest payload of a UDP packet, in bytes. */
  readonly min_length?: number | null;
  /** The longest payload of a UDP packet, in bytes. */
  readonly max_length?: number | null;
  /** The source ports that packets may come from: a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once. */
  readonly source_ports?: string | null;
};

export type FiltersCreated = {
  readonly data: {
    /** Slug of the filter. */
    readonly type: string;
    /** On how many ports it was put. */
    readonly created: number;
  };
  /** What was accepted, and the warning that connections must reconnect. */
  readonly message: string;
};

export type FiltersDeleted = {
  readonly data: {
    /** How many were deleted. Fewer than sent: the rest is not on this address. */
    readonly deleted: number;
  };
  /** What was accepted, and how long it propagates. */
  readonly message: string;
};

/** What is live on an address. */
export type FirewallAddress = {
  readonly data: {
    readonly ip: IpAddress;
    /** Allow before deny, then by id. */
    readonly rules: readonly Rule[];
    readonly filters: readonly Filter[];
  };
  readonly meta: {
    /** How many rules are listed. */
    readonly rules_count: number;
    /** How many filters are listed. */
    readonly filters_count: number;
    readonly limits: Limits;
  };
};

export type FirewallGeoRuleInput = {
  /** deny: drop these. only: drop all others. */
  readonly action: 'deny' | 'only';
  /** Countries. */
  readonly countries?: readonly string[];
  /** Autonomous systems. */
  readonly asns?: readonly number[];
  /** Addresses, or prefixes, that are held. */
  readonly addresses: readonly string[];
};

export type FirewallGeoRulePatch = {
  readonly action?: 'deny' | 'only' | null;
  readonly countries?: readonly string[] | null;
  readonly asns?: readonly number[] | null;
  readonly addresses?: readonly string[] | null;
};

export type FirewallGroupInput = {
  /** Its rules. */
  readonly rules?: ReadonlyArray<{
    /** The verdict on a packet that matches. */
    readonly action: 'allow' | 'deny';
    /** icmp is ICMPv6 on IPv6. */
    readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
    /** A port, an expression of ports, or SERVER:PORT, which is followed. */
    readonly destination_port?: string | number | null;
    /** An address or a CIDR; left out: any source. */
    readonly source_ip?: string | null;
    /** Your own name for it, unique in the group; for one port. */
    readonly ref?: string | null;
    /** A moment with an offset: "2026-01-01T00:00:00+00:00". */
    readonly expires_at?: string | null;
    readonly note?: string | null;
  }>;
  /** Its filters. */
  readonly filters?: ReadonlyArray<{
    /** A filter of the catalogue. */
    readonly type: string;
    /** A port, or an expression of ports. */
    readonly port: string | number;
    /** Your own name for it, unique in the group; for one port. */
    readonly ref?: string | null;
    /** A moment with an offset: "2026-01-01T00:00:00+00:00". */
    readonly expires_at?: string | null;
    readonly note?: string | null;
  }>;
  /** Addresses, or prefixes, that are held. */
  readonly addresses?: readonly string[];
};

export type FirewallGroupPatch = {
  readonly rules?: ReadonlyArray<{
    /** The verdict on a packet that matches. */
    readonly action: 'allow' | 'deny';
    /** icmp is ICMPv6 on IPv6. */
    readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';
    /** A port, an expression of ports, or SERVER:PORT, which is followed. */
    readonly destination_port?: string | number | null;
    /** An address or a CIDR; left out: any source. */
    readonly source_ip?: string | null;
    /** Your own name for it, unique in the group; for one port. */
    readonly ref?: string | null;
    /** A moment with an offset: "2026-01-01T00:00:00+00:00". */
    readonly expires_at?: string | null;
    readonly note?: string | null;
  }> | null;
  readonly filters?: ReadonlyArray<{
    /** A filter of the catalogue. */
    readonly type: string;
    /** A port, or an expression of ports. */
    readonly port: string | number;
    /** Your own name for it, unique in the group; for one port. */
    readonly ref?: string | null;
    /** A moment with an offset: "2026-01-01T00:00:00+00:00". */
    readonly expires_at?: string | null;
    readonly note?: string | null;
  }> | null;
  readonly addresses?: readonly string[] | null;
};

/** A setting that the caller cannot change. */
export type FixedSetting = {
  readonly pointer: string;
  /** Why not, in a sentence. */
  readonly reason: string;
};

export type FleetCollector = {
  readonly name: string;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
  readonly listen: string;
  /** How many are listed. */
  readonly exporters: number;
  /** The destinations of which its exporters are believed, together. */
  readonly prefixes: readonly string[] | "all";
  /** Null: it has no credential. */
  readonly enrolled_at: string | null;
  readonly last_seen_at: string | null;
  readonly connected: boolean;
  /** Its last report: exporters, datagrams, losses. */
  readonly report: {
    readonly [name: string]: unknown;
  } | null;
};

export type FleetHealth = {
  readonly data: {
    readonly edges: readonly Edge[];
    readonly nodes: readonly FleetNode[];
    readonly collectors: readonly FleetCollector[];
  };
};

export type FleetNode = {
  readonly name: string;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
  /** MiB that it offers; null: without limit. */
  readonly memory: number | null;
  /** MiB that it offers; null: without limit. */
  readonly disk: number | null;
  /** MiB that its servers have together. */
  readonly memory_used: number;
  /** MiB that its servers have together. */
  readonly disk_used: number;
  /** From which servers are given a port. */
  readonly addresses: readonly string[];
  /** A port expression: those that servers are given. */
  readonly ports: string;
  readonly enrolled_at: string | null;
  readonly last_seen_at: string | null;
  readonly connected: boolean;
  readonly engine: {
    readonly kind: string;
    readonly version: string | null;
    readonly problem: string | null;
  } | null;
  readonly servers: number;
  readonly built: number;
  readonly failed: ReadonlyArray<{
    readonly uuid: string;
    readonly name: string;
    readonly reason: string | null;
  }>;
};

export type FolderRequest = {
  /** The new folder; those on the way are made too. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly path: string;
};

export type FoundFile = {
  readonly path: string;
  /** A `link` is shown and never followed. Later versions may add values. */
  readonly type: 'file' | 'folder' | 'link' | 'other' | (string & {});
  /** Bytes; 0 for a folder. */
  readonly size: number;
  /** The number of the line that has the text. */
  readonly line: number | null;
  /** That line, as far as it fits. */
  readonly text: string | null;
};

/** A game server as listed. */
export type GameServer = {
  /** What every other operation on the server takes. */
  readonly uuid: string;
  /** A short value for people; null until provisioned. Never taken as a parameter. */
  readonly identifier: string | null;
  readonly name: string;
  /** The service that the server belongs to. */
  readonly service_id: number;
  /** False until the node has built the server; power and command answer 422 so long. */
  readonly provisioned: boolean;
  readonly limits: GameServerLimits;
};

/** How far the node is with building a server. */
export type GameServerBuild = {
  readonly data: GameServerBuildState;
};

export type GameServerBuildState = {
  readonly uuid: string;
  /** `waiting`: its node has not begun. `building`: image, folder and install. `built`: provisioned. `failed`: see `reason` and `log`. Later versions may add values. */
  readonly state: 'waiting' | 'building' | 'built' | 'failed' | (string & {});
  /** Why it failed or waits, in words. */
  readonly reason: string | null;
  /** The last lines of the install, while it runs and after. */
  readonly log: string | null;
  /** How often it was asked to be built. */
  readonly epoch: number;
  /** Where it runs. */
  readonly node: string;
  /** Whether its node reported lately. */
  readonly node_connected: boolean;
  /** What it is. */
  readonly egg: string;
  /** The operator lets it not run. */
  readonly suspended: boolean;
  /** Owners of the organisation made it within its quota, so they may delete it. */
  readonly own: boolean;
  /** The rights of the caller to it, as `listServerPeople` explains them. */
  readonly rights: readonly string[];
  /** What is amiss with a server that is built, live from its node: why its start failed, why it ended. Null: nothing, or the node did not answer within 2 s. */
  readonly problem: string | null;
  readonly allocation: Allocation;
  /** All ports, the first one too. Empty: `allocation` alone, with the protocols of the egg. */
  readonly allocations: readonly ServerPort[];
  /** The filter that fits each port of its game, whether it is there or not. */
  readonly suggested_filters: readonly SuggestedFilter[];
  /** Its ports are allowed while it runs, whatever denies them: all, or those of these names. */
  readonly open_while_running: boolean | readonly string[];
  /** Its ports are allowed for that reason, as far as is accepted. */
  readonly ports_open: boolean;
};

/** A game server with its live state. */
export type GameServerDetail = {
  /** What every other operation on the server takes. */
  readonly uuid: string;
  /** A short value for people; null until provisioned. Never taken as a parameter. */
  readonly identifier: string | null;
  readonly name: string;
  /** The service that the server belongs to. */
  readonly service_id: number;
  /** False until the node has built the server; power and command answer 422 so long. */
  readonly provisioned: boolean;
  readonly limits: GameServerLimits;
  /** Live from the node; null: unprovisioned, or the node did not answer. Null is unknown, not offline. Later versions may add values. */
  readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'paused' | (string & {}) | null;
  /** Live from the node; null: unprovisioned, or the node did not answer. Null is unknown, not offline. Also in the first seconds of a server, before it was measured. */
  readonly resources: GameServerResources | null;
};

/** The last day of a server. */
export type GameServerHistory = {
  readonly data: GameServerHistoryData;
  readonly meta: GameServerHistoryMeta;
};

export type GameServerHistoryData = {
  /** What it used, oldest first: one reading a minute while it ran and its node was connected. */
  readonly samples: readonly ServerSample[];
  /** What happened to it, oldest first; the newest thousand. */
  readonly events: readonly ServerHappening[];
};

/** The day that is kept. */
export type GameServerHistoryMeta = {
  readonly from: string;
  readonly to: string;
};

/** What the server may use. */
export type GameServerLimits = {
  /** MiB. */
  readonly memory: number;
  /** Percent of one core: 200 is two cores. */
  readonly cpu: number;
  /** MiB. */
  readonly disk: number;
};

export type GameServerList = {
  /** By name, then uuid. */
  readonly data: readonly GameServer[];
};

export type GameServerRead = {
  readonly data: GameServerDetail;
};

/** What the server uses now, from its node. */
export type GameServerResources = {
  readonly memory_bytes: number;
  /** As `limits.memory` has it. */
  readonly memory_limit_bytes: number;
  /** Percent of one core. */
  readonly cpu_absolute: number;
  readonly disk_bytes: number;
  /** Received since the start. */
  readonly network_rx_bytes: number;
  /** Sent since the start. */
  readonly network_tx_bytes: number;
  /** Milliseconds since the start; 0 while offline. */
  readonly uptime: number;
};

export type GameServerStatus = {
  readonly uuid: string;
  readonly name: string;
  readonly service_id: number;
  readonly service_name: string;
  /** As its node last reported it; nodes report a change at once. Null: unknown, because the server is not provisioned, or its node or the engine there is away. Later versions may add values. */
  readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'paused' | (string & {}) | null;
  /** Later versions may add values. */
  readonly build_state: 'waiting' | 'building' | 'built' | 'failed' | (string & {});
  /** The operator lets it not run. */
  readonly suspended: boolean;
  /** When it last ended by itself while it should run; null: not since its start. */
  readonly crashed_at: string | null;
  /** Where it runs. */
  readonly node: string;
  /** Whether its node reported lately. */
  readonly node_connected: boolean;
  /** What it is. */
  readonly egg: string;
  readonly allocation: Allocation;
};

export type GameServerStatuses = {
  /** By name, then uuid. */
  readonly data: readonly GameServerStatus[];
};

export type GenerationBody = {
  /** As the history lists it. */
  readonly generation: number;
};

export type GeoRule = {
  readonly id: number;
  /** `deny` drops these; `only` drops everything else. */
  readonly action: 'deny' | 'only';
  /** ISO 3166-1 alpha-2. */
  readonly countries: readonly string[];
  readonly asns: readonly Asn[];
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
  /** Addresses and prefixes that it is assigned to. */
  readonly targets: readonly string[];
  readonly created_at: string;
};

export type GeoRuleInput = {
  /** `deny` drops these; `only` drops everything else. */
  readonly action: 'deny' | 'only';
  /** ISO 3166-1 alpha-2. */
  readonly countries: readonly string[];
  readonly asns: readonly Asn[];
  /** Addresses, or prefixes inside holdings; each once. */
  readonly targets: readonly string[];
};

/** A geo rule that applies to the address. */
export type GeoRuleOf = {
  readonly id: number;
  /** `deny` drops what it lists, `only` everything else. Later versions may add values. */
  readonly action: 'deny' | 'only' | (string & {});
  readonly countries: readonly string[];
  readonly asns: readonly Asn[];
};

export type GeoRules = {
  readonly data: readonly GeoRule[];
};

/** Rules and filters for several addresses at once. */
export type Group = {
  readonly id: number;
  readonly name: string;
  /** `fleet`: the fleet file owns it, and it is changed there. Later versions may add values. */
  readonly owner: 'fleet' | 'portal' | (string & {});
  readonly rules: readonly GroupRule[];
  readonly filters: ReadonlyArray<{
    readonly id: number;
    readonly type: string;
    readonly port: Port;
    /** The organisation’s own name for it; null: none. */
    readonly ref: string | null;
    /** When it ends by itself; null: never. */
    readonly expires_at: string | null;
    readonly note: string | null;
  }>;
  /** Addresses and prefixes that it is assigned to. */
  readonly targets: readonly string[];
};

/** Why the group cannot be so. */
export type GroupConflict = {
  /** The address or prefix where it is. */
  readonly target: string;
  /** Later versions may add values. */
  readonly code: 'rule_exists' | 'filter_exists' | 'limit_exceeded' | 'filter_unavailable' | (string & {});
  readonly detail: string;
};

export type GroupFilterInput = {
  /** A slug from the catalogue of the same address. */
  readonly type: string;
  /** The ports to filter: a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once. */
  readonly port: string;
  /** Your own name for it, unique in the group; for at most one port. Default: none. */
  readonly ref?: string | null;
  /** When it ends by itself, in the future. Default: never. */
  readonly expires_at?: string | null;
  /** Plain text, of one or more lines; null: none. */
  readonly note?: string | null;
};

/** A group whole: what is there and not here is taken out. */
export type GroupInput = {
  readonly name: string;
  /** All of its rules. */
  readonly rules: readonly GroupRuleInput[];
  /** All of its filters. */
  readonly filters: readonly GroupFilterInput[];
  /** Addresses, or prefixes inside holdings; each once. */
  readonly targets: readonly string[];
};

export type GroupPreview = {
  readonly data: {
    /** What changes where. */
    readonly targets: ReadonlyArray<{
      readonly target: string;
      readonly change: 'assigned' | 'unassigned' | 'changed' | 'unchanged';
      /** Addresses in it with rules or filters of their own. */
      readonly configured_addresses: number;
      readonly rules_added: readonly string[];
      readonly rules_removed: readonly string[];
      readonly filters_added: readonly string[];
      readonly filters_removed: readonly string[];
    }>;
    /** Any one of them stops the whole change. At most 20 are listed. */
    readonly conflicts: readonly GroupConflict[];
  };
};

/** The firewall group that owns an object. Such an object is changed in its group. */
export type GroupRef = {
  /** Id of the group. */
  readonly id: number;
  /** Name of the group. */
  readonly name: string;
};

export type GroupRule = {
  readonly id: number;
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** Null: any source. */
  readonly source_ip: string | null;
  /** Null: any port. */
  readonly destination_port: number | null;
  /** The organisation’s own name for it; null: none. */
  readonly ref: string | null;
  /** When it ends by itself; null: never. */
  readonly expires_at: string | null;
  readonly note: string | null;
};

export type GroupRuleInput = {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** With tcp and udp only: a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once. Left out or null: any port. */
  readonly destination_port?: string | null;
  /** An address or a CIDR block of the address’s own family, without host bits. Left out or null: any source. */
  readonly source_ip?: string | null;
  /** Your own name for it, unique in the group; for at most one port. Default: none. */
  readonly ref?: string | null;
  /** When it ends by itself, in the future. Default: never. */
  readonly expires_at?: string | null;
  /** Plain text, of one or more lines; null: none. */
  readonly note?: string | null;
};

export type GroupSaved = {
  readonly data: {
    readonly id: number;
    readonly generation: number;
  };
  readonly message: string;
};

export type Groups = {
  readonly data: readonly Group[];
};

/** An address of a service, or one with own settings, recent drops or recent attacks. */
export type HeldAddress = {
  readonly ip: IpAddress;
  /** The service it is assigned to; null: it lies in a held prefix. */
  readonly service_id: number | null;
  /** The name of that service. */
  readonly service_name: string | null;
  /** Since when the organisation holds it. */
  readonly since: string;
  /** When the holding ends; null: no end is known. */
  readonly until: string | null;
  /** Accepted rules, those of groups included. */
  readonly rules_count: number;
  /** Accepted filters, those of groups included. */
  readonly filters_count: number;
  /** Packets to it that edges dropped in the last hour, as its drops count them: none while edges only observe. */
  readonly dropped_packets: number;
};

export type HeldAddresses = {
  readonly data: {
    /** All of them, on every page. */
    readonly prefixes: readonly HeldPrefix[];
    /** This page, IPv4 first, ascending. */
    readonly addresses: readonly HeldAddress[];
  };
  readonly links: {
    /** The page after; null on the last. */
    readonly next: string | null;
  };
  readonly meta: {
    readonly per_page: number;
    readonly configured_addresses: {
      /** Addresses with rules or filters of their own. */
      readonly used: number;
      /** How many the organisation may configure. */
      readonly limit: number;
    };
  };
};

/** A prefix of the organisation. */
export type HeldPrefix = {
  readonly prefix: Prefix;
  readonly asn: Asn | null;
  /** The service that holds it; null: none. */
  readonly service_id: number | null;
  /** Since when the organisation holds it. */
  readonly since: string;
  /** When the holding ends; null: no end is known. */
  readonly until: string | null;
};

export type History = {
  /** Newest first. */
  readonly data: readonly HistoryEntry[];
  readonly links: {
    /** The older page; null on the last. */
    readonly next: string | null;
  };
};

/** A change of the policy of an address. */
export type HistoryEntry = {
  readonly generation: number;
  readonly at: string;
  /** Later versions may add values. */
  readonly actor_kind: 'key' | 'user' | 'operator' | 'fleet' | 'system' | (string & {});
  /** Who did it: a key, a person, or a file. */
  readonly actor: string;
  /** Such as `rule.create`. */
  readonly action: string;
  /** The difference. */
  readonly objects: readonly HistoryObject[];
  /** Whether it changed own rules or filters, which undo and going back restore. */
  readonly can_undo: boolean;
};

export type HistoryObject = {
  /** `group`, `geo_rule` and `blocked`: assigned to the address or a prefix around it, or taken off. Later versions may add values. */
  readonly kind: 'rule' | 'filter' | 'default' | 'group' | 'group_rule' | 'group_filter' | 'geo_rule' | 'blocked' | (string & {});
  readonly change: 'added' | 'removed';
  /** Of the object. */
  readonly id: number;
  /** The object in words. */
  readonly name: string;
};

export type HoldingInput = {
  /** A network or an address. */
  readonly prefix: string;
  readonly asn?: number | null;
  readonly service?: number | null;
  readonly since?: string | null;
  readonly until?: string | null;
  readonly default?: 'accept' | 'deny' | null;
  readonly thresholds?: ScopeThresholds;
  readonly mitigation?: 'off' | 'observe' | 'on' | null;
  /** Sources that no mitigation touches; added to those around it. */
  readonly safelist?: readonly string[];
};

export type HoldingPatch = {
  readonly prefix?: string | null;
  readonly asn?: number | null;
  readonly service?: number | null;
  readonly since?: string | null;
  readonly until?: string | null;
  readonly default?: 'accept' | 'deny' | null;
  readonly thresholds?: {
    /** Packets per second. */
    readonly pps?: number | null;
    /** Megabits per second. */
    readonly mbps?: number | null;
    /** How long it must stay below to have ended. */
    readonly hold_seconds?: number | null;
  } | null;
  readonly mitigation?: 'off' | 'observe' | 'on' | null;
  readonly safelist?: readonly string[] | null;
};

export type HostImage = {
  readonly node: string;
  readonly name: string;
  /** How eggs name it. */
  readonly reference: string;
  /** `unknown`: Docker does not answer there. Later versions may add values. */
  readonly state: 'unknown' | 'missing' | 'building' | 'ready' | 'failed' | (string & {});
  /** What is being done. Null unless it is being built. */
  readonly step: string | null;
  /** Of the work. Null unless it is being built. */
  readonly percent: number | null;
  /** Why the last build failed. */
  readonly problem: string | null;
};

export type HostImages = {
  readonly data: readonly HostImage[];
};

/** One thing that is wrong with the input, and where. */
export type InputError = {
  /** JSON pointer (RFC 6901) to the place in the body. */
  readonly pointer?: string;
  /** Name of the query parameter or header. */
  readonly parameter?: string;
  /** What is wrong there. */
  readonly detail: string;
};

export type Invitation = {
  readonly email: string;
  readonly role: 'read-only' | 'member' | 'admin' | 'owner';
};

/** An IPv4 or IPv6 address in its canonical form (RFC 5952). */
export type IpAddress = string;

export type JoinCommand = {
  readonly data: {
    /** What to run on the new host, as root. It works once. Null in the repeated answer of an Idempotency-Key. */
    readonly command: string | null;
    readonly expires_at: string;
  };
};

export type JoinInput = {
  /** The host waits until an operator approves it. Default: false. */
  readonly approve?: boolean;
  /** How long it works. Default: 60. */
  readonly minutes?: number;
};

export type JoinRequest = {
  /** What the host is to be. */
  readonly kind: 'edge' | 'node' | 'collector';
  /** As `tokens create` printed it. */
  readonly token: string;
  /** The public key of the host, made for joining: Ed25519 in base64url. A token that asks for approval needs it. */
  readonly public_key?: string;
  /** The signature by that key of `portcullis join KIND TOKEN`, in base64url. */
  readonly signature?: string;
};

export type Joined = {
  readonly data: {
    /** Its name in the fleet. */
    readonly name: string;
    /** The contents of its credential file, shown this once. Null: an operator has to approve the key of the host; ask again. */
    readonly credential: string | null;
  };
};

export type LibraryEggInput = {
  /** The egg as Pterodactyl or Pelican exports it, as JSON, with its scripts as they are. `readEgg` makes it of a URL or of YAML. */
  readonly document: {
    readonly [name: string]: unknown;
  };
  /** The URL that it came from, where newer ones are looked for. */
  readonly source?: string | null;
  /** Whether owners of organisations may choose it. */
  readonly offered?: boolean;
};

export type LibraryEggPatch = {
  readonly document?: {
    readonly [name: string]: unknown;
  } | null;
  /** The URL that it came from, where newer ones are looked for. */
  readonly source?: string | null;
  readonly offered?: boolean | null;
};

/** The limits in force for the organisation. */
export type Limits = {
  /** Rules on one address, those of groups included. */
  readonly rules_per_ip: number;
  /** Filters on one address, those of groups included. */
  readonly filters_per_ip: number;
  /** Ports that one create may name. */
  readonly max_ports_per_request: number;
};

/** A new account needs a name and a new password; an account that is there what signing in asks for. */
export type LinkAcceptance = {
  /** The part of a link after #. */
  readonly token: string;
  readonly email?: string;
  readonly name?: string;
  readonly password: string;
  /** Six digits of the authenticator app, or a recovery code. */
  readonly code?: string;
};

/** The person is signed in: a session begins with the answer. */
export type LinkAccepted = {
  readonly data: {
    readonly email: string;
  };
};

export type LinkToken = {
  /** The part of a link after #. */
  readonly token: string;
};

export type ListedEgg = {
  /** The name that `egg` of a server takes. */
  readonly name: string;
  /** SHA-256 of the parsed egg: `egg_digest` of a server. */
  readonly digest: string;
  /** A `data:` URI of an image. */
  readonly icon: string | null;
  readonly author: string | null;
  readonly description: string;
  /** Their labels. */
  readonly images: readonly string[];
  readonly variables: readonly EggVariable[];
  /** With the first of its images. */
  readonly hosts: readonly EggHost[];
  /** It comes with this version; else an operator added it. */
  readonly shipped: boolean;
  /** Owners of organisations may choose it. */
  readonly offered: boolean;
  /** The URL that it came from. */
  readonly source: string | null;
  readonly title: string;
};

export type MadeServer = {
  readonly data: NewServerView;
  readonly message: string;
};

export type ManagedFilter = {
  /** A filter. */
  readonly type: string;
  readonly ports?: string | null;
};

export type ManagementPort = {
  /** Of the port. */
  readonly protocol: 'tcp' | 'udp';
  /** A port. */
  readonly port: number;
};

export type MeasuredPropagation = {
  /** The last changes, at most 100. */
  readonly samples: number;
  readonly median_ms: number;
  /** Of 95 of 100 changes. */
  readonly p95_ms: number;
};

export type MemberChange = {
  readonly role: 'read-only' | 'member' | 'admin' | 'owner';
};

export type Members = {
  readonly data: {
    readonly members: ReadonlyArray<{
      readonly id: number;
      readonly email: string;
      readonly name: string;
      /** Each role includes those before it. Later versions may add values. */
      readonly role: 'read-only' | 'member' | 'admin' | 'owner' | (string & {});
      readonly since: string;
      readonly last_seen_at: string | null;
    }>;
    readonly invitations: ReadonlyArray<{
      readonly id: number;
      readonly email: string;
      /** Each role includes those before it. Later versions may add values. */
      readonly role: 'read-only' | 'member' | 'admin' | 'owner' | (string & {});
      readonly created_by: string;
      readonly expires_at: string;
    }>;
  };
};

export type MitigationsCancelled = {
  readonly data: {
    /** Of the attack. */
    readonly attack: number;
    /** That withdraws what stood; null: nothing stood any more. */
    readonly generation: number | null;
  };
  readonly message: string;
};

export type ModeRequest = {
  readonly files: readonly FileMode[];
};

export type MoveRequest = {
  readonly moves: readonly FileMove[];
  /** What is at a new path goes to the bin. */
  readonly replace?: boolean;
};

/** Shown this once. It works once; give it to the person unless it is mailed. */
export type NewLink = {
  readonly data: {
    readonly url: string;
    readonly expires_at: string;
    /** Where it is mailed to; null: no mail server is configured, or it sent too much. */
    readonly mailed_to: string | null;
  };
};

export type NewPasskey = {
  readonly name: string;
  /** What the browser’s WebAuthn call answered, as JSON. */
  readonly credential: Readonly<Record<string, unknown>>;
};

export type NewServer = {
  /** The name for people. */
  readonly name: string;
  /** A name of the library (`listOfferedEggs`). */
  readonly egg: string;
  /** The label of one of the egg's images. Null: the first. */
  readonly image?: string | null;
  /** By environment name, within the egg's rules; the others have the egg's defaults. */
  readonly variables?: {
    readonly [name: string]: string | number | boolean;
  };
  readonly limits: NewServerLimits;
  /** Null or left out: the one with the most memory left of those where it fits. */
  readonly node?: string | null;
  /** A service of the organisation. Left out: its first active one. */
  readonly service?: number;
};

/** Where players will reach it. */
export type NewServerAddress = {
  readonly ip: IpAddress;
  readonly port: number;
};

export type NewServerLimits = {
  /** MiB. */
  readonly memory: number;
  /** Percent of one core. */
  readonly cpu: number;
  /** MiB. */
  readonly disk: number;
};

export type NewServerSize = {
  readonly memory: number;
  readonly cpu: number;
  readonly disk: number;
};

export type NewServerView = {
  readonly uuid: string;
  readonly name: string;
  readonly egg: string;
  readonly node: string;
  readonly service_id: number;
  readonly limits: NewServerSize;
  readonly allocation: NewServerAddress;
};

export type NewSftpPassword = {
  readonly name: string;
  /** Days until it ends. */
  readonly days: number;
  readonly password: string;
};

export type NewSshKey = {
  readonly name: string;
  /** The line of a .pub file: Ed25519, ECDSA, or RSA of 2048 bits and more. */
  readonly public_key: string;
  readonly password: string;
};

export type NodeInput = {
  /** MiB that it offers to servers that are placed. Default: without limit. */
  readonly memory?: number | null;
  /** As of memory. */
  readonly disk?: number | null;
  /** From which servers that are placed get a port. */
  readonly addresses?: readonly string[];
  /** A port expression: those that such servers get. */
  readonly ports?: string;
  /** Folders of its host for servers that name them. */
  readonly mounts?: readonly NodeMount[];
  /** Days for which it keeps the files of a deleted server; -1: until they are purged by hand. */
  readonly keep_days?: number;
  /** The name or address at which people reach its SFTP. Default: the one address on which it listens, else its first address, else that of the server. */
  readonly sftp_host?: string | null;
};

export type NodeMount = {
  /** The name by which servers take it. */
  readonly name: string;
  /** A folder of the host. The node must offer it (`node --mounts`): control alone mounts nothing. */
  readonly source: string;
  /** Where servers see it in their container. */
  readonly target: string;
  /** Whether they only read it. */
  readonly read_only?: boolean;
  /** Eggs whose servers may take it. Empty: any. */
  readonly eggs?: readonly string[];
};

export type NodePatch = {
  /** MiB that it offers to servers that are placed. Default: without limit. */
  readonly memory?: number | null;
  /** As of memory. */
  readonly disk?: number | null;
  readonly addresses?: readonly string[] | null;
  readonly ports?: string | null;
  readonly mounts?: readonly NodeMount[] | null;
  readonly keep_days?: number | null;
  /** The name or address at which people reach its SFTP. Default: the one address on which it listens, else its first address, else that of the server. */
  readonly sftp_host?: string | null;
};

export type NotedAddresses = {
  /** Only addresses with such a rule, IPv4 first, ascending. */
  readonly data: ReadonlyArray<{
    readonly ip: IpAddress;
    /** How many of its own rules have a note or tags. */
    readonly rules: number;
    /** Of these rules, each once, by name. */
    readonly tags: readonly string[];
  }>;
  readonly links: {
    /** The page after; null on the last. */
    readonly next: string | null;
  };
};

/** A rule to create, with its note and tags. */
export type NotedRule = {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** With tcp and udp only: a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once. Left out or null: any port. */
  readonly destination_port?: string | null;
  /** An address or a CIDR block of the address’s own family, without host bits. Left out or null: any source. */
  readonly source_ip?: string | null;
  /** Your own name for the rule, unique on the address; for at most one port. Null: none. Absent: as the equal rule has it. A rule that takes the place of another of the same name keeps its note and tags. */
  readonly ref?: string | null;
  /** When the rule ends by itself, in the future. Null: never. Absent: as the equal rule has it. */
  readonly expires_at?: string | null;
  /** Plain text, of one or more lines; null: none. */
  readonly note?: string | null;
  /** In the order given, each once. */
  readonly tags?: readonly string[];
};

export type ObjectNames = {
  /** Ids of rules. */
  readonly rules: readonly number[];
  /** Keys of filters. */
  readonly filters: readonly string[];
};

/** A game of which servers can be made. */
export type OfferedEgg = {
  /** What `egg` of a new server takes. */
  readonly name: string;
  readonly description: string;
  readonly author: string | null;
  /** A `data:` URI of a PNG, JPEG, WebP or SVG image. */
  readonly icon: string | null;
  /** Their labels; the first is the default. */
  readonly images: readonly string[];
  readonly variables: readonly EggVariable[];
  /** Those of its ports. */
  readonly protocols: readonly string[];
  /** The stateful filters that fit its ports. */
  readonly filters: ReadonlyArray<{
    readonly type: string;
    readonly name: string;
  }>;
  readonly title: string;
};

export type OfferedEggs = {
  /** Eggs, by title. */
  readonly data: readonly OfferedEgg[];
};

/** Its one port, with the protocols of the egg. Either this or allocations. */
export type OneAllocation = {
  /** An address of the node. */
  readonly ip: string;
  /** A port. */
  readonly port: number;
};

/** Unused links that have not expired. */
export type OpenLinks = {
  readonly data: ReadonlyArray<{
    readonly id: number;
    /** Makes an operator, an account with a role, or a new password. Later versions may add values. */
    readonly kind: 'operator' | 'invitation' | 'reset' | (string & {});
    /** Null if the person gives it when it accepts the link. */
    readonly email: string | null;
    /** Slug. */
    readonly organisation: string | null;
    /** In the organisation. Later versions may add values. */
    readonly role: 'read-only' | 'member' | 'admin' | 'owner' | (string & {}) | null;
    readonly created_by: string;
    readonly expires_at: string;
  }>;
};

/** From where packets to a port pass, and by what. */
export type OpenTo = {
  /** `most`: from more than half of all addresses. `some`: from fewer. Mitigations, blocked sources, geo rules and ports of running servers count. Later versions may add values. */
  readonly to: 'everyone' | 'most' | 'some' | 'nobody' | (string & {});
  /** The same in words. */
  readonly explanation: string;
  /** Each verdict with the stage that gives it, that of most sources first. */
  readonly decisions: readonly OpenToDecision[];
  /** Filters of the port, which then look at what passes. */
  readonly filters: readonly string[];
  /** `pending`: on an edge it is something else yet. `unenforced`: no edge enforces, so every packet passes. Later versions may add values. */
  readonly propagation: 'live' | 'pending' | 'unenforced' | (string & {});
};

export type OpenToDecision = {
  readonly verdict: 'pass' | 'drop';
  /** The stage that decided; `default`: no rule matched, so the default of the address did. Later versions may add values. */
  readonly stage: 'management' | 'needed-icmp' | 'fragment-limits' | 'return-traffic' | 'mitigations' | 'baseline' | 'blocked-sources' | 'named-allows' | 'geo' | 'rules' | 'default' | 'filters' | (string & {});
  /** Null: no object, the stage itself decided. */
  readonly decided_by: DecidedBy | null;
  /** The same in words. */
  readonly explanation: string;
  /** One of the sources that get this verdict. */
  readonly source_ip: string;
};

export type OperatorInvitation = {
  readonly email: string;
  /** Slug; null: an operator without an organisation. */
  readonly organisation: string | null;
  /** In the organisation. */
  readonly role: 'read-only' | 'member' | 'admin' | 'owner' | null;
};

export type OrganisationInput = {
  /** The name for people. */
  readonly name: string;
  /** Areas that are activated. */
  readonly flags?: ReadonlyArray<'firewall_api' | 'attack_history_api'>;
  readonly limits?: OrganisationLimits;
  readonly thresholds?: ScopeThresholds;
  readonly mitigation?: 'off' | 'observe' | 'on' | null;
  /** Sources that no mitigation touches; added to those around it. */
  readonly safelist?: readonly string[];
  /** What a billing system calls it; unique. Left out: unchanged. */
  readonly external_id?: string | null;
};

export type OrganisationKeyInput = {
  /** The name for people. A fleet file finds the key again by it. */
  readonly name: string;
  /** Abilities of the key. */
  readonly abilities: ReadonlyArray<'firewall.read' | 'firewall.manage' | 'attacks.read' | 'game-servers.read' | 'game-servers.manage' | 'game-servers.files' | 'game-servers.settings' | 'game-servers.create'>;
  readonly servers?: readonly string[] | null;
  readonly managed_servers?: readonly string[] | null;
  readonly prefixes?: readonly string[] | null;
  readonly sources?: readonly string[] | null;
  readonly expires_at?: string | null;
  /** A key from `portcullis keys generate`. Null: one is made, or it keeps the one that it has. */
  readonly secret?: string | null;
};

export type OrganisationKeyPatch = {
  readonly name?: string | null;
  readonly abilities?: ReadonlyArray<'firewall.read' | 'firewall.manage' | 'attacks.read' | 'game-servers.read' | 'game-servers.manage' | 'game-servers.files' | 'game-servers.settings' | 'game-servers.create'> | null;
  readonly servers?: readonly string[] | null;
  readonly managed_servers?: readonly string[] | null;
  readonly prefixes?: readonly string[] | null;
  readonly sources?: readonly string[] | null;
  readonly expires_at?: string | null;
  /** A key from `portcullis keys generate`. Null: one is made, or it keeps the one that it has. */
  readonly secret?: string | null;
};

/** Its limits. */
export type OrganisationLimits = {
  /** Rules per address */
  readonly rules_per_ip?: number;
  /** Filters per address */
  readonly filters_per_ip?: number;
  /** Ports per request */
  readonly max_ports_per_request?: number;
  /** Attack history, days */
  readonly attack_history_days?: number;
  /** Configured addresses */
  readonly configured_addresses?: number;
  /** Requests per minute, of each key */
  readonly requests_per_minute?: number;
  /** Servers that owners make */
  readonly own_servers?: number;
  /** Memory of those together, MiB */
  readonly own_servers_memory?: number;
  /** Processor of those together, % of a core */
  readonly own_servers_cpu?: number;
  /** Disk of those together, MiB */
  readonly own_servers_disk?: number;
};

export type OrganisationName = {
  readonly name: string;
};

export type OrganisationPatch = {
  readonly name?: string | null;
  readonly flags?: ReadonlyArray<'firewall_api' | 'attack_history_api'> | null;
  readonly limits?: {
    readonly rules_per_ip?: number | null;
    readonly filters_per_ip?: number | null;
    readonly max_ports_per_request?: number | null;
    readonly attack_history_days?: number | null;
    readonly configured_addresses?: number | null;
    readonly requests_per_minute?: number | null;
    readonly own_servers?: number | null;
    readonly own_servers_memory?: number | null;
    readonly own_servers_cpu?: number | null;
    readonly own_servers_disk?: number | null;
  } | null;
  readonly thresholds?: {
    /** Packets per second. */
    readonly pps?: number | null;
    /** Megabits per second. */
    readonly mbps?: number | null;
    /** How long it must stay below to have ended. */
    readonly hold_seconds?: number | null;
  } | null;
  readonly mitigation?: 'off' | 'observe' | 'on' | null;
  readonly safelist?: readonly string[] | null;
  /** What a billing system calls it; unique. Left out: unchanged. */
  readonly external_id?: string | null;
};

/** For `optionsJSON` of the browser’s WebAuthn call. */
export type PasskeyOptions = {
  readonly data: Readonly<Record<string, unknown>>;
};

export type PasskeySignIn = {
  /** What the browser’s WebAuthn call answered, as JSON. */
  readonly credential: Readonly<Record<string, unknown>>;
};

export type PasswordChange = {
  readonly password: string;
  /** At least 12 characters. */
  readonly new_password: string;
};

export type PasswordChanged = {
  readonly data: {
    readonly done: boolean;
    /** They still sign in: delete those that are not yours. */
    readonly passkeys: ReadonlyArray<{
      readonly id: number;
      readonly name: string;
      readonly created_at: string;
      readonly last_used_at: string | null;
    }>;
  };
};

export type PasswordProof = {
  readonly password: string;
};

export type People = {
  readonly data: ReadonlyArray<{
    readonly id: number;
    readonly email: string;
    readonly name: string;
    readonly operator: boolean;
    readonly disabled: boolean;
    readonly totp: boolean;
    /** Whether the address answered, or an operator gave its word: until then only links of the organisation that made the account are accepted for it. */
    readonly proven: boolean;
    /** Their number. */
    readonly passkeys: number;
    readonly last_seen_at: string | null;
    readonly organisations: ReadonlyArray<{
      readonly slug: string;
      /** Each role includes those before it. Later versions may add values. */
      readonly role: 'read-only' | 'member' | 'admin' | 'owner' | (string & {});
    }>;
  }>;
};

export type PersonChange = {
  readonly operator: boolean;
  readonly disabled: boolean;
};

export type PersonName = {
  readonly name: string;
};

export type PlacesRequest = {
  /** A name of the library (`listOfferedEggs`). */
  readonly egg: string;
  /** The label of one of the egg's images. Null: the first. */
  readonly image?: string | null;
  readonly limits: NewServerLimits;
};

/** A port of tcp or udp. */
export type Port = number;

export type PortTraffic = {
  /** Number of the IP protocol. */
  readonly protocol: number;
  /** Null: it has none. */
  readonly port: number | null;
  /** Sampled packets. */
  readonly samples: number;
  /** Addresses that they came from. */
  readonly sources: number;
  /** When an edge last reported such a packet. */
  readonly last_seen_at: string;
};

export type PortalLink = {
  readonly data: {
    /** What the link is for: the first operator, an invitation, a new password. Later versions may add values. */
    readonly kind: 'operator' | 'invitation' | 'reset' | (string & {});
    /** Null: the person who accepts it enters an address. */
    readonly email: string | null;
    /** Accept it with what the account signs in with. False: choose a name and a password; if somebody made an account for the address before, it is given to you, and every other way into it ends. */
    readonly has_account: boolean;
    /** Name of the organisation. */
    readonly organisation: string | null;
    /** Later versions may add values. */
    readonly role: 'read-only' | 'member' | 'admin' | 'owner' | (string & {}) | null;
    /** Name of the one server that it is an invitation to. */
    readonly server: string | null;
    /** Rights to that server. */
    readonly rights: readonly string[];
    readonly expires_at: string;
  };
};

export type PowerRequest = {
  /** `kill` ends the process at once, without a save; prefer `stop`. */
  readonly signal: 'start' | 'stop' | 'restart' | 'kill';
};

/** A network in CIDR form, canonical, without host bits. */
export type Prefix = string;

export type PrefixDropTotal = {
  readonly prefix: Prefix;
  /** What of the firewall dropped. `policy`: the operator’s baseline, geo rules and rules together. Later versions may add values. */
  readonly stage: 'fragment-limits' | 'mitigations' | 'policy' | 'filters' | (string & {});
  /** Why, as a slug, such as `denied`, `geo`, `rate` or `unvalidated`. New ones may be added: show what is there. */
  readonly reason: string;
  /** `xdp`: early, before the network stack, by XDP or at tc ingress. `nftables`: in the packet filter of the edge. Later versions may add values. */
  readonly by: 'xdp' | 'nftables' | (string & {});
  /** Packets dropped. */
  readonly packets: number;
  /** Their bytes, from the IP header on. */
  readonly bytes: number;
};

/** What a default of deny would drop, and what rules or filters would let pass. */
export type PreviewedPort = {
  /** Number of the IP protocol. */
  readonly protocol: number;
  /** Null: it has none. */
  readonly port: number | null;
  readonly dropped: SampleCount;
  readonly passed: SampleCount;
  /** When an edge last reported such a packet. */
  readonly last_seen_at: string;
};

/** A refusal in the form of RFC 9457. Clients ignore members they do not know. */
export type Problem = {
  /** Path of a page that explains the problem: /problems/<code>. */
  readonly type: string;
  /** The HTTP status, again. */
  readonly status: number;
  /** What happened here, in a sentence a person can act on. */
  readonly detail: string;
  /** What to program against. Stable. Later versions may add values. */
  readonly code: 'malformed_json' | 'unauthenticated' | 'area_not_enabled' | 'ability_missing' | 'role_missing' | 'cross_site_request' | 'not_found' | 'method_not_allowed' | 'idempotency_in_progress' | 'precondition_failed' | 'payload_too_large' | 'unsupported_media_type' | 'range_not_satisfiable' | 'invalid_request' | 'rule_exists' | 'idempotency_key_reused' | 'filter_exists' | 'filter_unavailable' | 'limit_exceeded' | 'managed_by_fleet_file' | 'live_objects' | 'conflict' | 'no_capacity' | 'managed_by_group' | 'rate_limited' | 'internal' | 'no_port_landed' | 'outcome_unknown' | 'unavailable' | (string & {});
  /** Where the input is wrong. */
  readonly errors?: readonly InputError[];
  /** Only with code internal: what the operator finds it under. */
  readonly request_id?: string;
  /** The same for every occurrence of the code. */
  readonly title: string;
};

/** `live`: on every edge in service. `pending`: accepted, not everywhere yet, or nowhere while no edge enforces. `going`: deleted, still somewhere. Later versions may add values. */
export type PropagationState = 'live' | 'pending' | 'going' | (string & {});

/** How long it takes here from the acceptance of a change until every edge in service has it. */
export type PropagationTime = {
  /** Null: no change has become live yet. */
  readonly measured: MeasuredPropagation | null;
  /** The same in words. */
  readonly text: string;
};

export type PullRequest = {
  /** http or https, without user name and password. It must lead to a public address, also through each of at most five redirects, or to a network that the operator opened to the servers of the node. */
  readonly url: string;
  /** The new file. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly path: string;
  /** Replace a file that is at the path. */
  readonly replace?: boolean;
};

export type ReadEgg = {
  readonly data: {
    readonly egg: Egg;
    /** What `egg_document` of a server takes. */
    readonly document: {
      readonly [name: string]: unknown;
    };
    /** What of the file has no effect here. */
    readonly notes: readonly string[];
    /** Null: no `name` was given, or it is a new one. */
    readonly change: EggChange | null;
  };
};

/** Shown this once; each works once. */
export type RecoveryCodes = {
  readonly data: {
    readonly recovery_codes: readonly string[];
  };
};

export type Reinstalled = {
  readonly data: {
    readonly uuid: string;
    /** How often it was asked to be built. */
    readonly epoch: number;
  };
  /** What was accepted. */
  readonly message: string;
};

/** A filter as it is read, or as a create takes it. */
export type ReplacementFilter = {
  /** A slug from the catalogue of the same address. */
  readonly type: string;
  /** As it is read (a number), or as a create takes it. */
  readonly port: string | Port;
  /** Null or absent: those of the equal filter that is there, or else none. */
  readonly settings?: FilterSettingsInput | null;
  /** An object of a group is ignored: it stays as it is. */
  readonly managed_by_group?: GroupRef | null;
  /** A `going` object is ignored: it is deleted already. */
  readonly status?: string;
  /** As it was read; ignored. */
  readonly key?: string;
  /** As it was read; ignored. */
  readonly name?: string;
};

/** A rule as it is read, or as a create takes it. */
export type ReplacementRule = {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** As it is read (a number), as a create takes it, or `SERVER:PORT`. Null: any port. */
  readonly destination_port?: string | null | Port;
  /** An address or a CIDR block of the address’s own family, without host bits. Left out or null: any source. */
  readonly source_ip?: string | null;
  /** A port of a game server as `SERVER:PORT`: the name of the server or its uuid, and the name of the port; `primary` is the first one. The port that it has now is the port of the rule, whatever destination_port says. */
  readonly named_port?: string | null;
  /** Your own name for the rule, unique on the address; for at most one port. Null: none. Absent: as the equal rule has it. A rule that takes the place of another of the same name keeps its note and tags. */
  readonly ref?: string | null;
  /** When the rule ends by itself, in the future. Null: never. Absent: as the equal rule has it. */
  readonly expires_at?: string | null;
  /** An object of a group is ignored: it stays as it is. */
  readonly managed_by_group?: GroupRef | null;
  /** A `going` object is ignored: it is deleted already. */
  readonly status?: string;
  /** As it was read; ignored. */
  readonly id?: number;
  /** As it was read; ignored. */
  readonly destination_ip?: string;
};

export type ResponderInput = {
  readonly command?: readonly string[] | null;
  /** An http or https URL that the attack is posted to as JSON. */
  readonly webhook?: string | null;
  /** Sent as `Authorization: Bearer`, in a file best as ${NAME}; of webhooks only. It is not shown again. */
  readonly secret?: string | null;
  readonly prefixes?: readonly string[] | null;
  /** Only attacks whose peak is above either. Default: all. */
  readonly at?: {
    /** Packets per second. */
    readonly pps?: number | null;
    /** Megabits per second. */
    readonly mbps?: number | null;
  };
  /** A call takes no longer. */
  readonly timeout_seconds?: number;
  /** Taken back after so long, whatever the attack does. */
  readonly expires_seconds?: number;
};

export type ResponderPatch = {
  readonly command?: readonly string[] | null;
  /** An http or https URL that the attack is posted to as JSON. */
  readonly webhook?: string | null;
  /** Sent as `Authorization: Bearer`, in a file best as ${NAME}; of webhooks only. It is not shown again. */
  readonly secret?: string | null;
  readonly prefixes?: readonly string[] | null;
  readonly at?: {
    /** Packets per second. */
    readonly pps?: number | null;
    /** Megabits per second. */
    readonly mbps?: number | null;
  } | null;
  readonly timeout_seconds?: number | null;
  readonly expires_seconds?: number | null;
};

export type RestoreRequest = {
  readonly ids: readonly string[];
};

/** One rule on one address and at most one port. Allow rules are listed before deny. */
export type Rule = {
  /** What a delete takes. */
  readonly id: number;
  readonly action: RuleAction;
  /** As in a create. Later versions may add values. */
  readonly protocol: 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any' | (string & {});
  /** An address or a CIDR block; null means any source. */
  readonly source_ip: string | null;
  readonly destination_ip: IpAddress;
  /** A port of tcp or udp; null means any port. Never 0. */
  readonly destination_port: number | null;
  /** The group that owns it; null: it is the address’s own. */
  readonly managed_by_group: GroupRef | null;
};

/** What happens to a packet that the rule matches. */
export type RuleAction = 'allow' | 'deny';

export type RuleBatch = {
  /** Created all together, or none of them. */
  readonly rules: readonly NotedRule[];
};

export type RuleDeletion = {
  /** Ids of rules of this address. Others are skipped. */
  readonly ids: readonly number[];
};

/** A rule to create; one is made for every port of the expression. */
export type RuleInput = {
  readonly action: RuleAction;
  readonly protocol: RuleProtocol;
  /** With tcp and udp only: a port, a range `low-high`, or a comma-separated list of either. Ports are 1 to 65535 without leading zeros; overlaps count once. Left out or null: any port. */
  readonly destination_port?: string | null;
  /** An address or a CIDR block of the address’s own family, without host bits. Left out or null: any source. */
  readonly source_ip?: string | null;
};

/** What the organisation keeps about a rule. */
export type RuleNote = {
  /** Plain text, of one or more lines; null: none. */
  readonly note: string | null;
  /** In the order given, each once. */
  readonly tags: readonly string[];
};

export type RuleNoteSaved = {
  readonly data: RuleNote;
};

export type RuleNotes = {
  /** Only rules with a note or tags. */
  readonly data: ReadonlyArray<{
    /** Id of the rule. */
    readonly rule: number;
    readonly note: string | null;
    /** In the order given, each once. */
    readonly tags: readonly string[];
  }>;
};

/** `icmp` means ICMPv6 on an IPv6 address; `any` is every protocol. */
export type RuleProtocol = 'tcp' | 'udp' | 'icmp' | 'gre' | 'esp' | 'any';

export type RulesCreated = {
  readonly data: {
    /** Ids of the rules that landed, by ascending port. */
    readonly ids: readonly number[];
    /** How many landed. */
    readonly created: number;
    /** How many were asked for. More than `created`: some ports got no rule. */
    readonly requested: number;
  };
  /** That it was accepted and how long it propagates; which rule makes it moot. */
  readonly message: string;
};

export type RulesDeleted = {
  readonly data: {
    /** How many were deleted. Fewer than sent: the rest is not on this address. */
    readonly deleted: number;
    /** Ids of the rules that were deleted. */
    readonly ids: readonly number[];
  };
  /** What was accepted, and how long it propagates. */
  readonly message: string;
};

export type SampleCount = {
  /** Sampled packets. */
  readonly samples: number;
  /** Addresses that they came from. */
  readonly sources: number;
};

/** When traffic is an attack; the nearest of address, service, prefix and organisation wins. Null: as of what is around it. */
export type ScopeThresholds = {
  /** Packets per second. */
  readonly pps?: number | null;
  /** Megabits per second. */
  readonly mbps?: number | null;
  /** How long it must stay below to have ended. */
  readonly hold_seconds?: number | null;
};

/** What was done with a server. */
export type ServerActivity = {
  /** Newest first. The newest 5,000 of a server are kept, for 90 days. */
  readonly data: ReadonlyArray<{
    readonly id: number;
    readonly at: string;
    /** A key, a person, the operator, or Portcullis itself. Later versions may add values. */
    readonly actor_kind: 'key' | 'user' | 'operator' | 'system' | (string & {});
    readonly actor: string;
    /** How it came. Later versions may add values. */
    readonly door: 'api' | 'portal' | 'sftp' | 'node' | (string & {});
    /** The address that it came from. */
    readonly source: string | null;
    readonly action: string;
    /** The files, command, people or settings of the action. `refused`: the reason why it was not done; with `failed`, how many of its parts were not. `unconfirmed`: the reason why it is not known whether it was done. */
    readonly detail: Readonly<Record<string, unknown>>;
    /** How often it was done within a minute. */
    readonly times: number;
  }>;
  readonly meta: ServerActivityMeta;
};

export type ServerActivityMeta = {
  /** Send it as `before` for older entries; null: there are none. */
  readonly next: number | null;
};

/** Servers, and what they have together. */
export type ServerAmounts = {
  /** Servers. */
  readonly servers: number;
  /** MiB. */
  readonly memory: number;
  /** Percent of one core. */
  readonly cpu: number;
  /** MiB. */
  readonly disk: number;
};

export type ServerEgg = {
  readonly data: {
    readonly egg: Egg;
  };
};

export type ServerHappening = {
  readonly at: string;
  /** Later versions may add values. */
  readonly kind: 'server.state' | 'server.crashed' | 'server.build' | (string & {});
  /** What it became. */
  readonly state: string | null;
  /** What it was, of a change of state. */
  readonly from: string | null;
};

export type ServerInput = {
  /** The organisation that it belongs to. */
  readonly organisation: string;
  /** A service of the organisation. */
  readonly service: number;
  /** The name for people. */
  readonly name: string;
  /** The node that runs it. */
  readonly node: string;
  /** Its egg: a file beside the fleet file, or one of the library (`listEggs`). */
  readonly egg: string;
  /** SHA-256 of the parsed egg. Left out: of the egg that has the name now. */
  readonly egg_digest?: string;
  /** The label of one of the egg's images. Null: the first. */
  readonly image?: string | null;
  /** An image in place of those of the egg, with ~ in front of one that is never pulled. */
  readonly docker_image?: string | null;
  /** A startup line in place of the egg's. */
  readonly startup?: string | null;
  /** By environment name, within the egg's rules; the others have the egg's defaults. */
  readonly variables?: {
    readonly [name: string]: string | number | boolean;
  };
  readonly limits: ServerLimits;
  readonly allocation?: OneAllocation;
  /** Its ports; the first one is SERVER_IP and SERVER_PORT. */
  readonly allocations?: readonly AllocationInput[];
  /** Its ports are allowed while it runs, whatever denies them. */
  readonly open_while_running?: boolean | readonly string[];
  /** Mounts of its node that it sees. */
  readonly mounts?: readonly string[];
  /** It must not run, and is not deleted. */
  readonly suspended?: boolean;
  /** When its host was started: as it was before, it is started, or it stays off. */
  readonly start_with_host?: 'as_before' | 'always' | 'never';
  /** Seconds from the stop of the egg to SIGTERM. Null: as the egg says. */
  readonly stop_seconds?: number | null;
  readonly crashes?: CrashPolicy;
  /** What a billing system calls it; unique in its organisation. */
  readonly external_id?: string | null;
  /** An egg as Pterodactyl or Pelican exports it, as JSON, with its scripts as they are. Pelican exports YAML too: `readEgg` makes JSON of it. `egg` may be left out then: it is the name in it. */
  readonly egg_document?: {
    readonly [name: string]: unknown;
  };
};

export type ServerInvitation = {
  readonly email: string;
  /** Rights by their names, which are those of Pterodactyl: `control.start`, `file.read-content`. Each brings `websocket.connect`, the right to see the server. */
  readonly rights: readonly string[];
};

export type ServerLimits = {
  /** MiB; 0: without limit. */
  readonly memory: number;
  /** Percent of one core; 0: without limit. */
  readonly cpu: number;
  /** MiB; 0: without limit. */
  readonly disk: number;
  /** MiB beyond its memory; -1: all that the host has. */
  readonly swap?: number;
  /** Weight of its reads and writes of disks beside other servers. */
  readonly io?: number;
  /** Cores of the host that it runs on: 0-3,6. Null: all. */
  readonly cores?: string | null;
  /** Whether the kernel ends its processes when its memory is full. */
  readonly oom?: boolean;
  /** Files, folders and links; 0: as many as its disk allows. */
  readonly entries?: number;
  /** Ports in all when its people add some; 0: they add none. */
  readonly ports?: number;
};

/** A server with an external id that its organisation has already is answered as it is. */
export type ServerOrder = {
  /** The organisation that it belongs to. */
  readonly organisation: string;
  /** A service of the organisation. */
  readonly service: number;
  /** The name for people. */
  readonly name: string;
  readonly limits: ServerLimits;
  /** Null or left out: one that has room, is connected and has the addresses. */
  readonly node?: string | null;
  /** Its egg: a file beside the fleet file, or one of the library (`listEggs`). */
  readonly egg?: string;
  /** SHA-256 of the parsed egg. Left out: of the egg that has the name now. */
  readonly egg_digest?: string;
  /** The label of one of the egg's images. Null: the first. */
  readonly image?: string | null;
  /** An image in place of those of the egg, with ~ in front of one that is never pulled. */
  readonly docker_image?: string | null;
  /** A startup line in place of the egg's. */
  readonly startup?: string | null;
  /** By environment name, within the egg's rules; the others have the egg's defaults. */
  readonly variables?: {
    readonly [name: string]: string | number | boolean;
  };
  readonly allocation?: OneAllocation;
  /** Its ports; the first one is SERVER_IP and SERVER_PORT. */
  readonly allocations?: readonly AllocationInput[];
  /** Its ports are allowed while it runs, whatever denies them. */
  readonly open_while_running?: boolean | readonly string[];
  /** Mounts of its node that it sees. */
  readonly mounts?: readonly string[];
  /** It must not run, and is not deleted. */
  readonly suspended?: boolean;
  /** When its host was started: as it was before, it is started, or it stays off. */
  readonly start_with_host?: 'as_before' | 'always' | 'never';
  /** Seconds from the stop of the egg to SIGTERM. Null: as the egg says. */
  readonly stop_seconds?: number | null;
  readonly crashes?: CrashPolicy;
  /** What a billing system calls it; unique in its organisation. */
  readonly external_id?: string | null;
  /** An egg as Pterodactyl or Pelican exports it, as JSON, with its scripts as they are. Pelican exports YAML too: `readEgg` makes JSON of it. `egg` may be left out then: it is the name in it. */
  readonly egg_document?: {
    readonly [name: string]: unknown;
  };
};

export type ServerPatch = {
  readonly organisation?: string | null;
  readonly service?: number | null;
  readonly name?: string | null;
  readonly node?: string | null;
  readonly egg?: string | null;
  readonly egg_digest?: string | null;
  /** The label of one of the egg's images. Null: the first. */
  readonly image?: string | null;
  /** An image in place of those of the egg, with ~ in front of one that is never pulled. */
  readonly docker_image?: string | null;
  /** A startup line in place of the egg's. */
  readonly startup?: string | null;
  readonly variables?: {
    readonly [name: string]: string | number | boolean | null;
  } | null;
  readonly limits?: {
    readonly memory?: number | null;
    readonly cpu?: number | null;
    readonly disk?: number | null;
    readonly swap?: number | null;
    readonly io?: number | null;
    /** Cores of the host that it runs on: 0-3,6. Null: all. */
    readonly cores?: string | null;
    readonly oom?: boolean | null;
    readonly entries?: number | null;
    readonly ports?: number | null;
  } | null;
  readonly allocation?: {
    readonly ip?: string | null;
    readonly port?: number | null;
  } | null;
  readonly allocations?: readonly AllocationInput[] | null;
  readonly open_while_running?: boolean | readonly string[] | null;
  readonly mounts?: readonly string[] | null;
  readonly suspended?: boolean | null;
  readonly start_with_host?: 'as_before' | 'always' | 'never' | null;
  /** Seconds from the stop of the egg to SIGTERM. Null: as the egg says. */
  readonly stop_seconds?: number | null;
  readonly crashes?: {
    readonly restart?: boolean | null;
    readonly within_seconds?: number | null;
    readonly tries?: number | null;
  } | null;
  /** What a billing system calls it; unique in its organisation. */
  readonly external_id?: string | null;
  readonly egg_document?: {
    readonly [name: string]: unknown;
  } | null;
};

/** The people who have rights to one server. */
export type ServerPeople = {
  readonly data: ServerPeopleData;
};

export type ServerPeopleData = {
  /** By email. Members of the organisation are here only if they have more rights here than by their role. */
  readonly people: ReadonlyArray<{
    readonly id: number;
    readonly email: string;
    readonly name: string;
    /** In the order of `rights`. */
    readonly rights: readonly string[];
    readonly since: string;
  }>;
  readonly invitations: ReadonlyArray<{
    readonly id: number;
    readonly email: string;
    /** In the order of `rights`. */
    readonly rights: readonly string[];
    readonly created_by: string;
    readonly expires_at: string;
  }>;
  /** Every right that there is. */
  readonly rights: ReadonlyArray<{
    readonly group: string;
    readonly right: string;
    readonly description: string;
    /** Whether the caller has it, and so may give it. */
    readonly own: boolean;
  }>;
};

export type ServerPlaces = {
  /** Every node, by name. */
  readonly data: ReadonlyArray<{
    readonly node: string;
    readonly fits: boolean;
    /** Why not; null: it fits. */
    readonly reason: string | null;
  }>;
};

export type ServerPort = {
  readonly ip: IpAddress;
  readonly port: Port;
  readonly protocols: ReadonlyArray<'tcp' | 'udp' | (string & {})>;
  /** The variable that has the port. */
  readonly variable: string | null;
  /** What the port is for. */
  readonly name: string | null;
};

export type ServerPortChange = {
  /** What the port is for, in small letters. Unique on its server. Null: no name. */
  readonly name?: string | null;
  /** Left out: those of its game. */
  readonly protocols?: ReadonlyArray<'tcp' | 'udp'>;
};

export type ServerPortOrder = {
  /** What the port is for, in small letters. Unique on its server. Null: no name. */
  readonly name?: string | null;
  /** Left out: those of its game. */
  readonly protocols?: ReadonlyArray<'tcp' | 'udp'>;
  /** One of those that its node gives. Left out: the next free one. */
  readonly port?: number;
};

/** The ports of a server. */
export type ServerPorts = {
  readonly data: ServerPortsData;
};

export type ServerPortsData = {
  /** The first one first. */
  readonly ports: ReadonlyArray<{
    readonly ip: IpAddress;
    readonly port: Port;
    readonly protocols: ReadonlyArray<'tcp' | 'udp' | (string & {})>;
    /** What the port is for. */
    readonly name: string | null;
    /** The variable that has the port. */
    readonly variable: string | null;
    /** Whether players are shown it: SERVER_PORT. */
    readonly primary: boolean;
    /** Whether its people added it. The others are the operator’s. */
    readonly added: boolean;
  }>;
  /** The ports that it may have in all when people add some. 0: they add none. */
  readonly limit: number;
};

export type ServerQuota = {
  readonly data: {
    readonly limits: ServerAmounts;
    readonly used: ServerAmounts;
    /** The active services of the organisation, by id: what `service` of a new server takes, the first by default. */
    readonly services: ReadonlyArray<{
      readonly id: number;
      readonly name: string;
    }>;
  };
};

export type ServerRightsChange = {
  /** Rights by their names, which are those of Pterodactyl: `control.start`, `file.read-content`. Each brings `websocket.connect`, the right to see the server. */
  readonly rights: readonly string[];
};

export type ServerSample = {
  /** The minute. */
  readonly at: string;
  readonly memory_bytes: number;
  /** Percent of one core. */
  readonly cpu_absolute: number;
  readonly disk_bytes: number;
  /** Received since the sample before. Null: there is none of the five minutes before, or it was started again. */
  readonly network_rx_bytes_per_second: number | null;
  /** Sent, likewise. */
  readonly network_tx_bytes_per_second: number | null;
};

/** The settings of a server. */
export type ServerSettings = {
  readonly data: ServerSettingsData;
  readonly meta: ServerSettingsMeta;
  /** What a write changed, in a sentence. */
  readonly message?: string;
};

/** What is left out stays. Null gives a setting its default again. */
export type ServerSettingsChange = {
  readonly name?: string;
  /** A label of the egg. */
  readonly image?: string | null;
  readonly start_with_host?: 'as_before' | 'always' | 'never';
  /** Seconds from the stop of the egg to SIGTERM, which ends what does not stop. Null: as the egg says. */
  readonly stop_seconds?: number | null;
  readonly crashes?: SettingsCrashesChange;
  /** By environment name, within the rules of the egg. */
  readonly variables?: {
    readonly [name: string]: string | number | boolean | null;
  };
};

export type ServerSettingsData = {
  readonly name: string;
  readonly egg: SettingsEgg;
  readonly image: SettingsImage;
  /** What happens to it when its host was started: as it was before, it is started, or it stays off. Later versions may add values. */
  readonly start_with_host: 'as_before' | 'always' | 'never' | (string & {});
  /** Seconds from the stop of the egg to SIGTERM, which ends what does not stop. Null: as the egg says. */
  readonly stop_seconds: number | null;
  readonly stop_seconds_of_egg: number;
  readonly crashes: SettingsCrashes;
  /** Those that its people may see, in the order of the egg. */
  readonly variables: readonly ServerVariable[];
  /** What the caller cannot change, and why. */
  readonly fixed: readonly FixedSetting[];
};

export type ServerSettingsMeta = {
  /** What it does, by its node. Null: unknown. Later versions may add values. */
  readonly state: 'offline' | 'starting' | 'running' | 'stopping' | 'paused' | (string & {}) | null;
  /** Settings that a server that runs takes at its next start, as JSON pointers. Of a read: those that wait now; null: unknown, because its node did not answer. Of a write: those that it changed. */
  readonly at_next_start: readonly string[] | null;
};

/** A startup variable of a server. */
export type ServerVariable = {
  /** Its name in the environment. */
  readonly env: string;
  /** For people. */
  readonly name: string;
  /** For people; may be empty. */
  readonly description: string;
  readonly default: string;
  /** Rules, in the words of the egg. */
  readonly rules: readonly string[];
  readonly input: VariableInput;
  /** The value that it has; where none was set, the default. */
  readonly value: string;
};

export type ServiceInput = {
  /** The name for people. */
  readonly name: string;
  /** Whether attacks on it are shown. */
  readonly active?: boolean;
  /** Filters that it manages itself, on the ports of its game servers. */
  readonly managed_filters?: readonly ManagedFilter[];
  readonly thresholds?: ScopeThresholds;
  readonly mitigation?: 'off' | 'observe' | 'on' | null;
  /** Sources that no mitigation touches; added to those around it. */
  readonly safelist?: readonly string[];
};

export type ServicePatch = {
  readonly name?: string | null;
  readonly active?: boolean | null;
  readonly managed_filters?: readonly ManagedFilter[] | null;
  readonly thresholds?: {
    /** Packets per second. */
    readonly pps?: number | null;
    /** Megabits per second. */
    readonly mbps?: number | null;
    /** How long it must stay below to have ended. */
    readonly hold_seconds?: number | null;
  } | null;
  readonly mitigation?: 'off' | 'observe' | 'on' | null;
  readonly safelist?: readonly string[] | null;
};

export type Sessions = {
  readonly data: ReadonlyArray<{
    readonly id: number;
    readonly current: boolean;
    readonly source: string | null;
    readonly user_agent: string | null;
    readonly created_at: string;
    readonly last_seen_at: string;
  }>;
};

/** The reaction to an end by itself. */
export type SettingsCrashes = {
  /** Whether it is started again. */
  readonly restart: boolean;
  /** Crashes that follow each other within this time are counted together. */
  readonly within_seconds: number;
  /** Restarts after such crashes; the next one leaves it offline. */
  readonly tries: number;
};

export type SettingsCrashesChange = {
  readonly restart?: boolean;
  readonly within_seconds?: number;
  readonly tries?: number;
};

/** The game that it is. */
export type SettingsEgg = {
  readonly name: string;
  readonly title: string;
};

/** The image that it runs in. */
export type SettingsImage = {
  /** The label of the one that is used. */
  readonly used: string;
  /** The one that was chosen. Null: the first of the egg. */
  readonly chosen: string | null;
  /** Those of the egg. */
  readonly labels: readonly string[];
};

export type SftpAccess = {
  readonly data: {
    readonly keys: ReadonlyArray<{
      readonly id: number;
      readonly name: string;
      readonly type: string;
      /** As ssh-keygen -l shows it. */
      readonly fingerprint: string;
      readonly created_at: string;
      readonly last_used_at: string | null;
    }>;
    readonly passwords: ReadonlyArray<{
      readonly id: number;
      readonly name: string;
      readonly created_at: string;
      readonly last_used_at: string | null;
      readonly expires_at: string;
    }>;
  };
};

/** Shown this once. */
export type SftpPassword = {
  readonly data: {
    readonly id: number;
    readonly password: string;
    readonly expires_at: string;
  };
};

/** How people reach the files of a server by SFTP. */
export type SftpPlace = {
  readonly data: {
    /** The name or address of its node. */
    readonly host: string;
    /** Null: its node serves no SFTP, or did not report it yet. */
    readonly port: number | null;
    /** The key of the host, as clients show it at the first connection: accept it only if it is this one. */
    readonly fingerprint: string | null;
    /** The end of the user: the email of the person, a dot, and this. */
    readonly server: string;
    /** The user of the caller; null for a key, which is no person. */
    readonly user: string | null;
    /** What a program such as FileZilla opens. Null without a user or a port. */
    readonly url: string | null;
  };
};

export type SignInRequest = {
  readonly email: string;
  readonly password: string;
  /** Six digits of the authenticator app, or a recovery code. */
  readonly code?: string;
};

export type SignedIn = {
  readonly data: {
    /** False: the password was right, and `code` is needed too. Send the request again with it. */
    readonly signed_in: boolean;
  };
};

export type SourcesBlocked = {
  readonly data: {
    /** A held address or a prefix inside a holding. Left out or null: everything that the organisation holds, also later. */
    readonly target: string | null;
    /** How many were blocked, or got another note or end. */
    readonly changed: number;
    /** How many of the sent ones were so already. */
    readonly unchanged: number;
    /** Where sources of an unblocking are still blocked, the first 20. */
    readonly still_blocked: readonly StillBlocked[];
  };
  /** What was accepted, and how long it propagates. */
  readonly message: string;
};

export type SourcesUnblocked = {
  readonly data: {
    /** A held address or a prefix inside a holding. Left out or null: everything that the organisation holds, also later. */
    readonly target: string | null;
    /** How many were unblocked. */
    readonly changed: number;
    /** How many of the sent ones were so already. */
    readonly unchanged: number;
    /** Where sources of an unblocking are still blocked, the first 20. */
    readonly still_blocked: readonly StillBlocked[];
  };
  /** What was accepted, and how long it propagates. */
  readonly message: string;
};

/** A source that is still blocked elsewhere. */
export type StillBlocked = {
  /** As sent. */
  readonly source: string;
  /** The blocked network. */
  readonly by: string;
  /** A held address or a prefix inside a holding. Left out or null: everything that the organisation holds, also later. */
  readonly target: string | null;
};

export type SuggestedFilter = {
  readonly ip: IpAddress;
  readonly port: Port;
  /** Later versions may add values. */
  readonly protocol: 'tcp' | 'udp' | (string & {});
  /** The slug. */
  readonly type: string;
  readonly name: string;
};

/** Twice the usual. Null: what it has suits. */
export type SuggestedThresholds = {
  /** Packets per second. */
  readonly pps: number;
  /** Megabits (10^6) per second. */
  readonly mbps: number;
  /** Attacks of the last seven days that stay below. */
  readonly missed: number;
  /** Hours of usual traffic that reach one of them. */
  readonly reported: number;
};

export type ThresholdSuggestion = {
  /** An address or prefix. */
  readonly subject: string;
  readonly usual: UsualPeak | null;
  readonly present: ThresholdsNow;
  readonly suggested: SuggestedThresholds | null;
  /** Of the last seven days. */
  readonly attacks: number;
};

export type ThresholdSuggestions = {
  readonly data: readonly ThresholdSuggestion[];
};

/** What it has. */
export type ThresholdsNow = {
  /** Packets per second. */
  readonly pps: number;
  /** Megabits (10^6) per second. */
  readonly mbps: number;
  /** Attacks of the last seven days that stay below. */
  readonly missed: number;
  /** Hours of usual traffic that reach one of them. */
  readonly reported: number;
};

export type TopPort = {
  readonly port: number;
  /** Null: who counted does not tell it. Later versions may add values. */
  readonly protocol: 'tcp' | 'udp' | (string & {}) | null;
  /** As far as they were counted; may be of samples. */
  readonly packets: number;
};

export type TotpCode = {
  /** Six digits of the authenticator app, or a recovery code. */
  readonly code: string;
};

export type TotpSetup = {
  readonly data: {
    /** In base32, to type into the app. */
    readonly secret: string;
    /** otpauth: URI, for a QR code. */
    readonly uri: string;
  };
};

export type Traffic = {
  readonly data: {
    readonly ip: IpAddress;
    /** Most samples first. */
    readonly ports: readonly PortTraffic[];
  };
  readonly meta: {
    /** The samples are from here on; at most a day. */
    readonly from: string;
    readonly to: string;
    /** Edges sample packets of connections that were not answered yet, and one in this number of the others. */
    readonly sampled_one_in: number;
    /** The edges that sampled them. */
    readonly edges: readonly string[];
    /** False: there were more, and these are the most. */
    readonly is_complete: boolean;
  };
};

export type TrafficAccepted = {
  readonly data: {
    /** Of the attack. */
    readonly attack: number;
    /** The address or prefix that the thresholds are of. */
    readonly target: string;
    /** Null: those of its scopes. */
    readonly pps: number | null;
    readonly mbps: number | null;
  };
  readonly message: string;
};

/** Networks to unblock, as they were blocked. */
export type UnblockRequest = {
  readonly sources: readonly string[];
  /** A held address or a prefix inside a holding. Left out or null: everything that the organisation holds, also later. */
  readonly target?: string | null;
};

export type UnpackRequest = {
  /** An archive: zip, tar, 7z, rar, or a tar or single file compressed by gzip, zstd, xz or bzip2. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly path: string;
  /** The folder that its content goes to. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly to?: string;
};

/** The highest traffic outside of attacks. Null: never a quarter of its threshold. */
export type UsualPeak = {
  readonly pps: number;
  readonly mbps: number;
};

/** It has lasted an hour with a steady shape, from many sources, as usual traffic does. Accepting it sets these thresholds; nothing else does. Null: it does not look so. */
export type UsualTraffic = {
  /** Packets per second. */
  readonly pps: number;
  /** Megabits (10^6) per second. */
  readonly mbps: number;
};

/** The input that fits the rules of a variable. What rules say beyond it is checked when a value is sent. */
export type VariableInput = {
  /** Later versions may add values. */
  readonly kind: 'choice' | 'switch' | 'number' | 'text' | (string & {});
  /** Of a `choice`; empty otherwise. */
  readonly choices: readonly string[];
  /** The value of a `switch` that is on. */
  readonly on: string | null;
  /** The value of a `switch` that is off. */
  readonly off: string | null;
  /** A `number` without a fraction. */
  readonly whole: boolean;
  /** The least number, or length of a `text`. */
  readonly least: number | null;
  /** The largest number, or length of a `text`. */
  readonly most: number | null;
};

/** Without its secret, which is shown once. */
export type Webhook = {
  readonly id: number;
  readonly name: string;
  readonly url: string;
  /** How messages are written, by the URL: Standard Webhooks, or for a chat. Later versions may add values. */
  readonly format: 'standard' | 'discord' | 'slack' | (string & {});
  readonly events: ReadonlyArray<'attack.opened' | 'attack.mitigated' | 'attack.ended' | 'attack.looks_usual' | 'server.state' | 'server.crashed' | 'propagation.failed' | 'webhook.test' | (string & {})>;
  readonly enabled: boolean;
  /** Why it is disabled: somebody did so, the receiver answered 410, or a day of retries failed. */
  readonly disabled_reason: string | null;
  readonly disabled_at: string | null;
  readonly created_at: string;
  /** Until then deliveries are signed with the secret before the last rotation too. */
  readonly previous_secret_until: string | null;
  /** Deliveries that wait or are tried again. */
  readonly pending: number;
};

export type WebhookChange = {
  readonly name: string;
  /** http or https, at a public address, without user name, password or fragment. Redirects are not followed. */
  readonly url: string;
  /** The events that it delivers. */
  readonly events: ReadonlyArray<'attack.opened' | 'attack.mitigated' | 'attack.ended' | 'attack.looks_usual' | 'server.state' | 'server.crashed' | 'propagation.failed'>;
  /** False: what waits is given up. True takes back the reason of a disabled one. */
  readonly enabled: boolean;
};

export type WebhookInput = {
  readonly name: string;
  /** http or https, at a public address, without user name, password or fragment. Redirects are not followed. */
  readonly url: string;
  /** The events that it delivers. */
  readonly events: ReadonlyArray<'attack.opened' | 'attack.mitigated' | 'attack.ended' | 'attack.looks_usual' | 'server.state' | 'server.crashed' | 'propagation.failed'>;
};

export type WebhookSaved = {
  readonly data: Webhook;
};

export type WebhookSecret = {
  readonly data: {
    readonly id: number;
    /** The secret of signatures (https://www.standardwebhooks.com): `whsec_` and base64. It is shown this once. */
    readonly secret: string;
  };
};

export type Webhooks = {
  readonly data: readonly Webhook[];
};

export type WhoAmI = {
  readonly data: {
    readonly id: number;
    readonly email: string;
    readonly name: string;
    readonly operator: boolean;
    /** Slug that an operator acts for now. */
    readonly acting_for: string | null;
    /** By slug; that which an operator acts for is among them. */
    readonly organisations: ReadonlyArray<{
      readonly slug: string;
      readonly name: string;
      /** Each role includes those before it. `guest`: rights to single servers only. Later versions may add values. */
      readonly role: 'guest' | 'read-only' | 'member' | 'admin' | 'owner' | (string & {});
      /** `fleet`: the fleet file owns it, and its name is changed there. Later versions may add values. */
      readonly owner: 'fleet' | 'portal' | (string & {});
    }>;
  };
};

export type WrittenServerAnswer = {
  readonly data: DeclaredServer;
  /** Of a write: ports that players cannot reach, because the firewall closes them. Absent: none. */
  readonly message?: string;
};

/** The operations of /api/v1. */
export interface V1Operations {
  /** Read the rules and filters of an address. */
  readFirewallAddress: {
    params: { ip: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: FirewallAddress;
  };
  /** List the filters that an address can have. */
  listAvailableFilters: {
    params: { ip: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: FilterCatalogue;
  };
  /** Create rules on an address. */
  createRules: {
    params: { ip: string };
    query: never;
    body: RuleInput;
    headers: 'idempotencyKey';
    result: RulesCreated;
  };
  /** Delete rules of an address. */
  deleteRules: {
    params: { ip: string };
    query: never;
    body: RuleDeletion;
    headers: 'idempotencyKey';
    result: RulesDeleted;
  };
  /** Apply a filter to ports of an address. */
  applyFilters: {
    params: { ip: string };
    query: never;
    body: FilterInput;
    headers: 'idempotencyKey';
    result: FiltersCreated;
  };
  /** Delete filters of an address. */
  deleteFilters: {
    params: { ip: string };
    query: never;
    body: FilterDeletion;
    headers: 'idempotencyKey';
    result: FiltersDeleted;
  };
  /** List game servers. */
  listGameServers: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: GameServerList;
  };
  /** Read a game server. */
  readGameServer: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: GameServerRead;
  };
  /** Send a power signal. */
  sendPowerSignal: {
    params: { slice: string };
    query: never;
    body: PowerRequest;
    headers: 'idempotencyKey';
    result: Acknowledgement;
  };
  /** Send a console command. */
  sendCommand: {
    params: { slice: string };
    query: never;
    body: CommandRequest;
    headers: 'idempotencyKey';
    result: Acknowledgement;
  };
  /** List attacks. */
  listAttacks: {
    params: {};
    query: { ip?: string; prefix?: string; asn?: number; from?: string; to?: string; ongoing?: boolean; per_page?: number; page?: number; snapshot?: string };
    body: never;
    headers: 'ifNoneMatch';
    result: AttackPage;
  };
}

/** The operations of /api/x1. */
export interface X1Operations {
  /** List held prefixes and addresses. */
  listHeldAddresses: {
    params: {};
    query: { after?: string; per_page?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: HeldAddresses;
  };
  /** Read what is accepted for an address. */
  readAcceptedAddress: {
    params: { ip: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: AcceptedAddress;
  };
  /** Replace the own rules and filters of an address. */
  replaceAddress: {
    params: { ip: string };
    query: { dry_run?: boolean };
    body: AddressReplacement;
    headers: 'ifMatch';
    result: AddressReplaced;
  };
  /** Create several rules of an address, with notes and tags. */
  addRules: {
    params: { ip: string };
    query: never;
    body: RuleBatch;
    headers: 'idempotencyKey';
    result: AddressReplaced;
  };
  /** Set what filters of an address let through. */
  setFilterSettings: {
    params: { ip: string };
    query: never;
    body: FilterSettingsChange;
    headers: never;
    result: AddressReplaced;
  };
  /** Set what happens to packets that no rule matches. */
  setDefault: {
    params: {};
    query: never;
    body: DefaultChange;
    headers: never;
    result: DefaultChanged;
  };
  /** Preview what a default of deny would drop. */
  previewDefault: {
    params: { ip: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DefaultPreview;
  };
  /** Explain what happens to a packet. */
  explainPacket: {
    params: { ip: string };
    query: never;
    body: ExplainRequest;
    headers: never;
    result: Explanation;
  };
  /** See what was dropped. */
  readDrops: {
    params: { ip: string };
    query: { from?: string; to?: string; edge?: string };
    body: never;
    headers: 'ifNoneMatch';
    result: Drops;
  };
  /** See what passes. */
  readTraffic: {
    params: { ip: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: Traffic;
  };
  /** Try rules, filters or a default. */
  dryRun: {
    params: { ip: string };
    query: never;
    body: DryRunInput;
    headers: never;
    result: DryRun;
  };
  /** List the filters that there are. */
  listFilters: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: FilterCatalogue;
  };
  /** List blocked sources. */
  listBlockedSources: {
    params: {};
    query: { after?: number; per_page?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: BlockedSources;
  };
  /** Block sources. */
  blockSources: {
    params: {};
    query: never;
    body: BlockRequest;
    headers: 'idempotencyKey';
    result: SourcesBlocked;
  };
  /** Unblock sources. */
  unblockSources: {
    params: {};
    query: never;
    body: UnblockRequest;
    headers: 'idempotencyKey';
    result: SourcesUnblocked;
  };
  /** List game servers with their state. */
  listGameServerStatuses: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: GameServerStatuses;
  };
  /** Make a game server. */
  makeGameServer: {
    params: {};
    query: never;
    body: NewServer;
    headers: 'idempotencyKey';
    result: MadeServer;
  };
  /** See how far a server is built. */
  readGameServerBuild: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: GameServerBuild;
  };
  /** Read the last day of a server. */
  readGameServerHistory: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: GameServerHistory;
  };
  /** Read the last lines of a console. */
  readConsole: {
    params: { slice: string };
    query: { lines?: number; colours?: boolean };
    body: never;
    headers: 'ifNoneMatch';
    result: Console;
  };
  /** Install a server again. */
  reinstallGameServer: {
    params: { slice: string };
    query: { files?: 'keep' | 'bin' | 'delete' };
    body: never;
    headers: 'idempotencyKey';
    result: Reinstalled;
  };
  /** Read the quota of own servers. */
  readServerQuota: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: ServerQuota;
  };
  /** List the games of which servers can be made. */
  listOfferedEggs: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: OfferedEggs;
  };
  /** Find the nodes where a server fits. */
  findServerPlaces: {
    params: {};
    query: never;
    body: PlacesRequest;
    headers: never;
    result: ServerPlaces;
  };
  /** Delete a game server. */
  deleteGameServer: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: Done;
  };
  /** List a folder of a server. */
  listFiles: {
    params: { slice: string };
    query: { path?: string; sort?: 'name' | 'size' | 'modified'; order?: 'ascending' | 'descending'; content?: boolean; page?: number; per_page?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: FileList;
  };
  /** Delete files and folders. */
  deleteFiles: {
    params: { slice: string };
    query: never;
    body: DeleteFilesRequest;
    headers: 'idempotencyKey';
    result: FilesChanged;
  };
  /** Read a file. */
  readFile: {
    params: { slice: string };
    query: { path: string; raw?: boolean };
    body: never;
    headers: 'ifNoneMatch';
    result: FileContent;
  };
  /** Write a file. */
  writeFile: {
    params: { slice: string };
    query: { path: string };
    body: FileWrite;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: FileWritten;
  };
  /** Look how far an upload is. */
  readUpload: {
    params: { slice: string };
    query: { path: string };
    body: never;
    headers: 'ifNoneMatch';
    result: FileUpload;
  };
  /** Abort an upload. */
  abortUpload: {
    params: { slice: string };
    query: { path: string };
    body: never;
    headers: 'idempotencyKey';
    result: FilesChanged;
  };
  /** Make a link for one download. */
  makeFileLink: {
    params: { slice: string };
    query: never;
    body: {
  readonly paths: readonly string[];
  readonly format?: 'zip' | 'tar.gz' | 'tar.zst';
};
    headers: never;
    result: FileLink;
  };
  /** Make a link for one upload. */
  makeUploadLink: {
    params: { slice: string };
    query: never;
    body: {
  /** The new file; the folders on the way are made when it is whole. Relative to the server’s folder, names separated by `/`; empty is the folder itself. A byte that is no UTF-8 and a control character are each one character from U+EF00 on, as lists have them. */
  readonly path: string;
  /** Where the body begins in the file: as many bytes as were received, or 0. */
  readonly offset: number;
  /** The size of the whole file. */
  readonly size: number;
};
    headers: 'ifMatch' | 'ifNoneMatch';
    result: FileLink;
  };
  /** Make a folder. */
  makeFolder: {
    params: { slice: string };
    query: never;
    body: FolderRequest;
    headers: 'idempotencyKey';
    result: FilesChanged;
  };
  /** Move and rename files and folders. */
  moveFiles: {
    params: { slice: string };
    query: never;
    body: MoveRequest;
    headers: 'idempotencyKey';
    result: FilesChanged;
  };
  /** Copy a file or folder. */
  copyFile: {
    params: { slice: string };
    query: never;
    body: CopyRequest;
    headers: 'idempotencyKey';
    result: FileJobAnswer;
  };
  /** Make an archive of files and folders. */
  archiveFiles: {
    params: { slice: string };
    query: never;
    body: ArchiveRequest;
    headers: 'idempotencyKey';
    result: FileJobAnswer;
  };
  /** Unpack an archive. */
  unpackFile: {
    params: { slice: string };
    query: never;
    body: UnpackRequest;
    headers: 'idempotencyKey';
    result: FileJobAnswer;
  };
  /** Pull a file from a URL. */
  pullFile: {
    params: { slice: string };
    query: never;
    body: PullRequest;
    headers: 'idempotencyKey';
    result: FileJobAnswer;
  };
  /** Set permissions of files and folders. */
  setFileModes: {
    params: { slice: string };
    query: never;
    body: ModeRequest;
    headers: 'idempotencyKey';
    result: FilesChanged;
  };
  /** Search files by name or text. */
  searchFiles: {
    params: { slice: string };
    query: { path?: string; name?: string; text?: string; limit?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: FilesFound;
  };
  /** Measure the disk use of a folder. */
  measureFiles: {
    params: { slice: string };
    query: { path?: string };
    body: never;
    headers: 'ifNoneMatch';
    result: FilesMeasured;
  };
  /** List deleted files. */
  listDeletedFiles: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeletedFiles;
  };
  /** Remove deleted files for good. */
  emptyBin: {
    params: { slice: string };
    query: never;
    body: EmptyBinRequest;
    headers: 'idempotencyKey';
    result: FilesChanged;
  };
  /** Restore deleted files. */
  restoreFiles: {
    params: { slice: string };
    query: never;
    body: RestoreRequest;
    headers: 'idempotencyKey';
    result: FilesChanged;
  };
  /** List long operations on files. */
  listFileJobs: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: FileJobs;
  };
  /** Cancel a long operation on files. */
  cancelFileJob: {
    params: { slice: string; job: string };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: FileJobAnswer;
  };
  /** List the people of a server. */
  listServerPeople: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: ServerPeople;
  };
  /** Invite a person to a server. */
  inviteToServer: {
    params: { slice: string };
    query: never;
    body: ServerInvitation;
    headers: 'idempotencyKey';
    result: NewLink;
  };
  /** Set the rights of a person to a server. */
  setServerRights: {
    params: { slice: string; person: number };
    query: never;
    body: ServerRightsChange;
    headers: never;
    result: Done;
  };
  /** Remove a person from a server. */
  removeFromServer: {
    params: { slice: string; person: number };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: Done;
  };
  /** Withdraw an invitation to a server. */
  withdrawServerInvitation: {
    params: { slice: string; invitation: number };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: Done;
  };
  /** Read what was done with a server. */
  listServerActivity: {
    params: { slice: string };
    query: { before?: number; limit?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: ServerActivity;
  };
  /** Read how to connect by SFTP. */
  readServerSftp: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: SftpPlace;
  };
  /** List the ports of a server. */
  listServerPorts: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: ServerPorts;
  };
  /** Add a port to a server. */
  addServerPort: {
    params: { slice: string };
    query: never;
    body: ServerPortOrder;
    headers: 'idempotencyKey';
    result: ChangedServerPorts;
  };
  /** Set the name and protocols of a port. */
  setServerPort: {
    params: { slice: string; address: string; port: number };
    query: never;
    body: ServerPortChange;
    headers: never;
    result: ChangedServerPorts;
  };
  /** Remove a port from a server. */
  removeServerPort: {
    params: { slice: string; address: string; port: number };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: ChangedServerPorts;
  };
  /** Make a port the first one. */
  choosePrimaryPort: {
    params: { slice: string; address: string; port: number };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: ChangedServerPorts;
  };
  /** Read the settings of a server. */
  readServerSettings: {
    params: { slice: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: ServerSettings;
  };
  /** Change the settings of a server. */
  changeServerSettings: {
    params: { slice: string };
    query: never;
    body: ServerSettingsChange;
    headers: 'ifMatch';
    result: ServerSettings;
  };
  /** Read an attack. */
  readAttack: {
    params: { attack: number };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: AttackDetail;
  };
  /** Withdraw what is done against an attack. */
  cancelMitigations: {
    params: { attack: number };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: MitigationsCancelled;
  };
  /** Accept the traffic of an attack as usual. */
  acceptTraffic: {
    params: { attack: number };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: TrafficAccepted;
  };
  /** Take back that traffic is usual. */
  forgetTraffic: {
    params: { attack: number };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: TrafficAccepted;
  };
  /** Read what this key is and may do. */
  readCaller: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: CallerView;
  };
}

/** The operations of /api/portal. */
export interface PortalOperations {
  /** Sign in with email and password. */
  signIn: {
    params: {};
    query: never;
    body: SignInRequest;
    headers: never;
    result: SignedIn;
  };
  /** Begin to sign in with a passkey. */
  beginPasskeySignIn: {
    params: {};
    query: never;
    body: never;
    headers: never;
    result: PasskeyOptions;
  };
  /** Sign in with a passkey. */
  signInWithPasskey: {
    params: {};
    query: never;
    body: PasskeySignIn;
    headers: never;
    result: SignedIn;
  };
  /** Read what a link is for. */
  readLink: {
    params: {};
    query: never;
    body: LinkToken;
    headers: never;
    result: PortalLink;
  };
  /** Accept a link. */
  acceptLink: {
    params: {};
    query: never;
    body: LinkAcceptance;
    headers: never;
    result: LinkAccepted;
  };
  /** Read who is signed in. */
  readSession: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: WhoAmI;
  };
  /** Sign out. */
  signOut: {
    params: {};
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Read second factors and passkeys. */
  readAccount: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: Account;
  };
  /** List sessions. */
  listSessions: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: Sessions;
  };
  /** End a session. */
  endSession: {
    params: { session: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Change the name. */
  renameAccount: {
    params: {};
    query: never;
    body: PersonName;
    headers: never;
    result: Done;
  };
  /** Change the password. */
  changePassword: {
    params: {};
    query: never;
    body: PasswordChange;
    headers: never;
    result: PasswordChanged;
  };
  /** Begin to set up an authenticator app. */
  beginTotp: {
    params: {};
    query: never;
    body: PasswordProof;
    headers: never;
    result: TotpSetup;
  };
  /** Turn the authenticator app on. */
  confirmTotp: {
    params: {};
    query: never;
    body: TotpCode;
    headers: never;
    result: RecoveryCodes;
  };
  /** Turn the authenticator app off. */
  removeTotp: {
    params: {};
    query: never;
    body: PasswordProof;
    headers: never;
    result: Done;
  };
  /** Make new recovery codes. */
  renewRecoveryCodes: {
    params: {};
    query: never;
    body: PasswordProof;
    headers: never;
    result: RecoveryCodes;
  };
  /** Begin to add a passkey. */
  beginPasskey: {
    params: {};
    query: never;
    body: PasswordProof;
    headers: never;
    result: PasskeyOptions;
  };
  /** Add a passkey. */
  addPasskey: {
    params: {};
    query: never;
    body: NewPasskey;
    headers: never;
    result: Done;
  };
  /** Delete a passkey. */
  deletePasskey: {
    params: { passkey: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Read SSH keys and SFTP passwords. */
  readSftpAccess: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: SftpAccess;
  };
  /** Add an SSH key. */
  addSshKey: {
    params: {};
    query: never;
    body: NewSshKey;
    headers: never;
    result: Done;
  };
  /** Delete an SSH key. */
  deleteSshKey: {
    params: { ssh_key: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Make an SFTP password. */
  makeSftpPassword: {
    params: {};
    query: never;
    body: NewSftpPassword;
    headers: never;
    result: SftpPassword;
  };
  /** Delete an SFTP password. */
  deleteSftpPassword: {
    params: { sftp_password: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** List members and open invitations. */
  listMembers: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: Members;
  };
  /** Change the role of a member. */
  changeMember: {
    params: { organisation?: string; member: number };
    query: never;
    body: MemberChange;
    headers: never;
    result: Done;
  };
  /** Remove a member. */
  removeMember: {
    params: { organisation?: string; member: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Invite a person. */
  inviteMember: {
    params: { organisation?: string };
    query: never;
    body: Invitation;
    headers: never;
    result: NewLink;
  };
  /** Withdraw an invitation. */
  withdrawInvitation: {
    params: { organisation?: string; invitation: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Rename the organisation. */
  renameOrganisation: {
    params: { organisation?: string };
    query: never;
    body: OrganisationName;
    headers: never;
    result: Done;
  };
  /** List all people. */
  listPeople: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: People;
  };
  /** Make a person an operator, or disable it. */
  changePerson: {
    params: { person: number };
    query: never;
    body: PersonChange;
    headers: never;
    result: Done;
  };
  /** Make a link for a new password. */
  createResetLink: {
    params: { person: number };
    query: never;
    body: never;
    headers: never;
    result: NewLink;
  };
  /** Invite an operator, or a person to an organisation. */
  invitePerson: {
    params: {};
    query: never;
    body: OperatorInvitation;
    headers: never;
    result: NewLink;
  };
  /** List unused links. */
  listLinks: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: OpenLinks;
  };
  /** Withdraw a link. */
  withdrawLink: {
    params: { link: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Act for an organisation. */
  actFor: {
    params: {};
    query: never;
    body: Acting;
    headers: never;
    result: Done;
  };
  /** Stop to act for an organisation. */
  stopActing: {
    params: {};
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** List the addresses whose rules have notes or tags. */
  listNotedAddresses: {
    params: { organisation?: string };
    query: { search?: string; after?: string; per_page?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: NotedAddresses;
  };
  /** List the notes and tags of the rules of an address. */
  listRuleNotes: {
    params: { organisation?: string; ip: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: RuleNotes;
  };
  /** Save the note and tags of a rule. */
  saveRuleNote: {
    params: { organisation?: string; rule: number };
    query: never;
    body: RuleNote;
    headers: never;
    result: RuleNoteSaved;
  };
  /** Read the changes of an address. */
  readHistory: {
    params: { organisation?: string; ip: string };
    query: { before?: number; per_page?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: History;
  };
  /** Undo a change of an address. */
  undoChange: {
    params: { organisation?: string; ip: string };
    query: never;
    body: GenerationBody;
    headers: never;
    result: AddressChanged;
  };
  /** Go back to an earlier state of an address. */
  restoreAddress: {
    params: { organisation?: string; ip: string };
    query: never;
    body: GenerationBody;
    headers: never;
    result: AddressChanged;
  };
  /** List firewall groups. */
  listGroups: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: Groups;
  };
  /** Create a firewall group. */
  createGroup: {
    params: { organisation?: string };
    query: never;
    body: GroupInput;
    headers: never;
    result: GroupSaved;
  };
  /** Change a firewall group. */
  saveGroup: {
    params: { organisation?: string; group: number };
    query: never;
    body: GroupInput;
    headers: never;
    result: GroupSaved;
  };
  /** Delete a firewall group. */
  deleteGroup: {
    params: { organisation?: string; group: number };
    query: never;
    body: never;
    headers: never;
    result: GroupSaved;
  };
  /** Preview a new firewall group. */
  previewNewGroup: {
    params: { organisation?: string };
    query: never;
    body: GroupInput;
    headers: never;
    result: GroupPreview;
  };
  /** Preview a change of a firewall group. */
  previewGroup: {
    params: { organisation?: string; group: number };
    query: never;
    body: GroupInput;
    headers: never;
    result: GroupPreview;
  };
  /** List geo rules. */
  listGeoRules: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: GeoRules;
  };
  /** Create a geo rule. */
  createGeoRule: {
    params: { organisation?: string };
    query: never;
    body: GeoRuleInput;
    headers: never;
    result: GroupSaved;
  };
  /** Change a geo rule. */
  saveGeoRule: {
    params: { organisation?: string; geo_rule: number };
    query: never;
    body: GeoRuleInput;
    headers: never;
    result: GroupSaved;
  };
  /** Delete a geo rule. */
  deleteGeoRule: {
    params: { organisation?: string; geo_rule: number };
    query: never;
    body: never;
    headers: never;
    result: GroupSaved;
  };
  /** List API keys. */
  listKeys: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: ApiKeys;
  };
  /** Create an API key. */
  createKey: {
    params: { organisation?: string };
    query: never;
    body: ApiKeyInput;
    headers: never;
    result: ApiKeyCreated;
  };
  /** Revoke an API key. */
  revokeKey: {
    params: { organisation?: string; key: number };
    query: never;
    body: never;
    headers: never;
    result: ApiKeyRevoked;
  };
  /** Trade a token for a credential. */
  joinFleet: {
    params: {};
    query: never;
    body: JoinRequest;
    headers: never;
    result: Joined;
  };
  /** Read whether an agent is live. */
  readAgentState: {
    params: {};
    query: never;
    body: AgentStateRequest;
    headers: never;
    result: AgentState;
  };
  /** List webhooks. */
  listWebhooks: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: Webhooks;
  };
  /** Create a webhook. */
  createWebhook: {
    params: { organisation?: string };
    query: never;
    body: WebhookInput;
    headers: never;
    result: WebhookSecret;
  };
  /** Change a webhook. */
  saveWebhook: {
    params: { organisation?: string; webhook: number };
    query: never;
    body: WebhookChange;
    headers: never;
    result: WebhookSaved;
  };
  /** Delete a webhook. */
  deleteWebhook: {
    params: { organisation?: string; webhook: number };
    query: never;
    body: never;
    headers: never;
    result: Done;
  };
  /** Make a new secret. */
  rotateWebhookSecret: {
    params: { organisation?: string; webhook: number };
    query: never;
    body: never;
    headers: never;
    result: WebhookSecret;
  };
  /** Send a test. */
  testWebhook: {
    params: { organisation?: string; webhook: number };
    query: never;
    body: never;
    headers: never;
    result: DeliveryStarted;
  };
  /** List deliveries. */
  listWebhookDeliveries: {
    params: { organisation?: string; webhook: number };
    query: { state?: 'pending' | 'delivered' | 'failed' | 'skipped'; before?: number; per_page?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: Deliveries;
  };
  /** Deliver again. */
  redeliver: {
    params: { organisation?: string; webhook: number; delivery: number };
    query: never;
    body: never;
    headers: never;
    result: DeliveryStarted;
  };
}

/** The operations of /api/operator. */
export interface OperatorOperations {
  /** Suggest thresholds. */
  suggestThresholds: {
    params: { slug: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: ThresholdSuggestions;
  };
  /** List the eggs of the library. */
  listEggs: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: Eggs;
  };
  /** Read an egg of your own. */
  readEgg: {
    params: {};
    query: never;
    body: EggSourceInput;
    headers: 'idempotencyKey';
    result: ReadEgg;
  };
  /** List the images that nodes make. */
  listImages: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: HostImages;
  };
  /** Make an image on a node. */
  makeImage: {
    params: { name: string; image: string };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: HostImages;
  };
  /** Create a game server. */
  createServer: {
    params: {};
    query: never;
    body: ServerOrder;
    headers: 'idempotencyKey';
    result: WrittenServerAnswer;
  };
  /** List the servers. */
  listServers: {
    params: {};
    query: { organisation?: string; external_id?: string; node?: string };
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredServersAnswer;
  };
  /** Read the egg of a game server. */
  readServerEgg: {
    params: { uuid: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: ServerEgg;
  };
  /** Suspend a game server. */
  suspendServer: {
    params: { uuid: string };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: WrittenServerAnswer;
  };
  /** Unsuspend a game server. */
  unsuspendServer: {
    params: { uuid: string };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: WrittenServerAnswer;
  };
  /** Install a game server anew. */
  reinstallServer: {
    params: { uuid: string };
    query: { files?: 'keep' | 'bin' | 'delete' };
    body: never;
    headers: 'idempotencyKey';
    result: WrittenServerAnswer;
  };
  /** List deleted servers whose files are still there. */
  listDeletedServers: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeletedServers;
  };
  /** Restore a deleted server. */
  restoreServer: {
    params: { uuid: string };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: WrittenServerAnswer;
  };
  /** Purge the files of a deleted server now. */
  purgeServer: {
    params: { uuid: string };
    query: never;
    body: never;
    headers: 'idempotencyKey';
    result: DeletedServers;
  };
  /** Read the health of the fleet. */
  readFleetHealth: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: FleetHealth;
  };
  /** Read the command that starts enforcement. */
  readEnforceCommand: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: EnforceCommand;
  };
  /** Make the command by which a host joins. */
  createJoinCommand: {
    params: { kind: string; name: string };
    query: never;
    body: JoinInput;
    headers: 'idempotencyKey';
    result: JoinCommand;
  };
  /** Approve the host that waits. */
  approveHosts: {
    params: { kind: string; name: string };
    query: never;
    body: ApprovalInput;
    headers: 'idempotencyKey';
    result: ApprovedHosts;
  };
  /** Search the audit trail. */
  readAuditTrail: {
    params: {};
    query: { search?: string; organisation?: string; before?: number; per_page?: number };
    body: never;
    headers: 'ifNoneMatch';
    result: AuditTrail;
  };
  /** List the organisations. */
  listOrganisations: {
    params: {};
    query: { external_id?: string };
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredOrganisationsAnswer;
  };
  /** Read an organisation. */
  readOrganisation: {
    params: { slug: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredOrganisationAnswer;
  };
  /** Create or replace an organisation. */
  saveOrganisation: {
    params: { slug: string };
    query: { allow_losses?: boolean };
    body: OrganisationInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredOrganisationAnswer;
  };
  /** Change an organisation. */
  changeOrganisation: {
    params: { slug: string };
    query: { allow_losses?: boolean };
    body: OrganisationPatch;
    headers: 'ifMatch';
    result: DeclaredOrganisationAnswer;
  };
  /** Remove an organisation. */
  removeOrganisation: {
    params: { slug: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the asns. */
  listAsns: {
    params: {};
    query: { organisation?: string };
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredAsnsAnswer;
  };
  /** Read an asn. */
  readAsn: {
    params: { asn: number };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredAsnAnswer;
  };
  /** Create or replace an asn. */
  saveAsn: {
    params: { asn: number };
    query: { allow_losses?: boolean };
    body: AsnInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredAsnAnswer;
  };
  /** Change an asn. */
  changeAsn: {
    params: { asn: number };
    query: { allow_losses?: boolean };
    body: AsnPatch;
    headers: 'ifMatch';
    result: DeclaredAsnAnswer;
  };
  /** Remove an asn. */
  removeAsn: {
    params: { asn: number };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the services. */
  listServices: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredServicesAnswer;
  };
  /** Read a service. */
  readService: {
    params: { organisation?: string; id: number };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredServiceAnswer;
  };
  /** Create or replace a service. */
  saveService: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: ServiceInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredServiceAnswer;
  };
  /** Change a service. */
  changeService: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: ServicePatch;
    headers: 'ifMatch';
    result: DeclaredServiceAnswer;
  };
  /** Remove a service. */
  removeService: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the holdings. */
  listHoldings: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredHoldingsAnswer;
  };
  /** Create a holding. */
  createHolding: {
    params: { organisation?: string };
    query: { allow_losses?: boolean };
    body: HoldingInput;
    headers: 'idempotencyKey';
    result: DeclaredHoldingAnswer;
  };
  /** Read a holding. */
  readHolding: {
    params: { organisation?: string; id: number };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredHoldingAnswer;
  };
  /** Replace a holding. */
  saveHolding: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: HoldingInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredHoldingAnswer;
  };
  /** Change a holding. */
  changeHolding: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: HoldingPatch;
    headers: 'ifMatch';
    result: DeclaredHoldingAnswer;
  };
  /** Remove a holding. */
  removeHolding: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the organisation keys. */
  listOrganisationKeys: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredOrganisationKeysAnswer;
  };
  /** Create a key. */
  createOrganisationKey: {
    params: { organisation?: string };
    query: { allow_losses?: boolean };
    body: OrganisationKeyInput;
    headers: 'idempotencyKey';
    result: DeclaredOrganisationKeyAnswer;
  };
  /** Read a key. */
  readOrganisationKey: {
    params: { organisation?: string; id: number };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredOrganisationKeyAnswer;
  };
  /** Replace a key. */
  saveOrganisationKey: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: OrganisationKeyInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredOrganisationKeyAnswer;
  };
  /** Change a key. */
  changeOrganisationKey: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: OrganisationKeyPatch;
    headers: 'ifMatch';
    result: DeclaredOrganisationKeyAnswer;
  };
  /** Remove a key. */
  removeOrganisationKey: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the firewall groups. */
  listFirewallGroups: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredFirewallGroupsAnswer;
  };
  /** Read a group. */
  readFirewallGroup: {
    params: { organisation?: string; name: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredFirewallGroupAnswer;
  };
  /** Create or replace a group. */
  saveFirewallGroup: {
    params: { organisation?: string; name: string };
    query: { allow_losses?: boolean };
    body: FirewallGroupInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredFirewallGroupAnswer;
  };
  /** Change a group. */
  changeFirewallGroup: {
    params: { organisation?: string; name: string };
    query: { allow_losses?: boolean };
    body: FirewallGroupPatch;
    headers: 'ifMatch';
    result: DeclaredFirewallGroupAnswer;
  };
  /** Remove a group. */
  removeFirewallGroup: {
    params: { organisation?: string; name: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the firewall geo rules. */
  listFirewallGeoRules: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredFirewallGeoRulesAnswer;
  };
  /** Create a geo rule. */
  createFirewallGeoRule: {
    params: { organisation?: string };
    query: { allow_losses?: boolean };
    body: FirewallGeoRuleInput;
    headers: 'idempotencyKey';
    result: DeclaredFirewallGeoRuleAnswer;
  };
  /** Read a geo rule. */
  readFirewallGeoRule: {
    params: { organisation?: string; id: number };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredFirewallGeoRuleAnswer;
  };
  /** Replace a geo rule. */
  saveFirewallGeoRule: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: FirewallGeoRuleInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredFirewallGeoRuleAnswer;
  };
  /** Change a geo rule. */
  changeFirewallGeoRule: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: FirewallGeoRulePatch;
    headers: 'ifMatch';
    result: DeclaredFirewallGeoRuleAnswer;
  };
  /** Remove a geo rule. */
  removeFirewallGeoRule: {
    params: { organisation?: string; id: number };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the blocked lists. */
  listBlockedLists: {
    params: { organisation?: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredBlockedListsAnswer;
  };
  /** Read a blocked list. */
  readBlockedList: {
    params: { organisation?: string; target: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredBlockedListAnswer;
  };
  /** Create or replace a blocked list. */
  saveBlockedList: {
    params: { organisation?: string; target: string };
    query: { allow_losses?: boolean };
    body: BlockedListInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredBlockedListAnswer;
  };
  /** Change a blocked list. */
  changeBlockedList: {
    params: { organisation?: string; target: string };
    query: { allow_losses?: boolean };
    body: BlockedListPatch;
    headers: 'ifMatch';
    result: DeclaredBlockedListAnswer;
  };
  /** Remove a blocked list. */
  removeBlockedList: {
    params: { organisation?: string; target: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the nodes. */
  listNodes: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredNodesAnswer;
  };
  /** Read a node. */
  readNode: {
    params: { name: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredNodeAnswer;
  };
  /** Create or replace a node. */
  saveNode: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: NodeInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredNodeAnswer;
  };
  /** Change a node. */
  changeNode: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: NodePatch;
    headers: 'ifMatch';
    result: DeclaredNodeAnswer;
  };
  /** Remove a node. */
  removeNode: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the baselines. */
  listBaselines: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredBaselinesAnswer;
  };
  /** Read a baseline. */
  readBaseline: {
    params: { prefix: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredBaselineAnswer;
  };
  /** Create or replace a baseline. */
  saveBaseline: {
    params: { prefix: string };
    query: { allow_losses?: boolean };
    body: BaselineInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredBaselineAnswer;
  };
  /** Change a baseline. */
  changeBaseline: {
    params: { prefix: string };
    query: { allow_losses?: boolean };
    body: BaselinePatch;
    headers: 'ifMatch';
    result: DeclaredBaselineAnswer;
  };
  /** Remove a baseline. */
  removeBaseline: {
    params: { prefix: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the edges. */
  listEdges: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredEdgesAnswer;
  };
  /** Read an edge. */
  readEdge: {
    params: { name: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredEdgeAnswer;
  };
  /** Create or replace an edge. */
  saveEdge: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: EdgeInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredEdgeAnswer;
  };
  /** Change an edge. */
  changeEdge: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: EdgePatch;
    headers: 'ifMatch';
    result: DeclaredEdgeAnswer;
  };
  /** Remove an edge. */
  removeEdge: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the collectors. */
  listCollectors: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredCollectorsAnswer;
  };
  /** Read a collector. */
  readCollector: {
    params: { name: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredCollectorAnswer;
  };
  /** Create or replace a collector. */
  saveCollector: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: CollectorInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredCollectorAnswer;
  };
  /** Change a collector. */
  changeCollector: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: CollectorPatch;
    headers: 'ifMatch';
    result: DeclaredCollectorAnswer;
  };
  /** Remove a collector. */
  removeCollector: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the responders. */
  listResponders: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredRespondersAnswer;
  };
  /** Read a responder. */
  readResponder: {
    params: { name: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredResponderAnswer;
  };
  /** Create or replace a responder. */
  saveResponder: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: ResponderInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredResponderAnswer;
  };
  /** Change a responder. */
  changeResponder: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: ResponderPatch;
    headers: 'ifMatch';
    result: DeclaredResponderAnswer;
  };
  /** Remove a responder. */
  removeResponder: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** List the library eggs. */
  listLibraryEggs: {
    params: {};
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredLibraryEggsAnswer;
  };
  /** Read a library egg. */
  readLibraryEgg: {
    params: { name: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredLibraryEggAnswer;
  };
  /** Create or replace a library egg. */
  saveLibraryEgg: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: LibraryEggInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: DeclaredLibraryEggAnswer;
  };
  /** Change a library egg. */
  changeLibraryEgg: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: LibraryEggPatch;
    headers: 'ifMatch';
    result: DeclaredLibraryEggAnswer;
  };
  /** Remove a library egg. */
  removeLibraryEgg: {
    params: { name: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
  /** Read a server. */
  readServer: {
    params: { uuid: string };
    query: never;
    body: never;
    headers: 'ifNoneMatch';
    result: DeclaredServerAnswer;
  };
  /** Create or replace a server. */
  saveServer: {
    params: { uuid: string };
    query: { allow_losses?: boolean };
    body: ServerInput;
    headers: 'ifMatch' | 'ifNoneMatch';
    result: WrittenServerAnswer;
  };
  /** Change a server. */
  changeServer: {
    params: { uuid: string };
    query: { allow_losses?: boolean };
    body: ServerPatch;
    headers: 'ifMatch';
    result: WrittenServerAnswer;
  };
  /** Remove a server. */
  removeServer: {
    params: { uuid: string };
    query: { allow_losses?: boolean };
    body: never;
    headers: 'idempotencyKey' | 'ifMatch';
    result: Done;
  };
}

/** Where the operations of each version are: id, method (`!` where it takes an Idempotency-Key) and path. */
export const OPERATIONS = {
  v1: `readFirewallAddress GET /firewall/ips/{ip}
listAvailableFilters GET /firewall/ips/{ip}/filters/available
createRules POST! /firewall/ips/{ip}/rules
deleteRules DELETE! /firewall/ips/{ip}/rules
applyFilters POST! /firewall/ips/{ip}/filters
deleteFilters DELETE! /firewall/ips/{ip}/filters
listGameServers GET /game-servers
readGameServer GET /game-servers/{slice}
sendPowerSignal POST! /game-servers/{slice}/power
sendCommand POST! /game-servers/{slice}/command
listAttacks GET /attacks`,
  x1: `listHeldAddresses GET /firewall/ips
readAcceptedAddress GET /firewall/ips/{ip}
replaceAddress PUT /firewall/ips/{ip}
addRules POST! /firewall/ips/{ip}/rules
setFilterSettings PUT /firewall/ips/{ip}/filter-settings
setDefault PUT /firewall/defaults
previewDefault GET /firewall/ips/{ip}/default-preview
explainPacket POST /firewall/ips/{ip}/explain
readDrops GET /firewall/ips/{ip}/drops
readTraffic GET /firewall/ips/{ip}/traffic
dryRun POST /firewall/ips/{ip}/dry-run
listFilters GET /firewall/filters
listBlockedSources GET /firewall/blocked
blockSources POST! /firewall/blocked
unblockSources DELETE! /firewall/blocked
listGameServerStatuses GET /game-servers
makeGameServer POST! /game-servers
readGameServerBuild GET /game-servers/{slice}/build
readGameServerHistory GET /game-servers/{slice}/history
readConsole GET /game-servers/{slice}/console
reinstallGameServer POST! /game-servers/{slice}/reinstall
readServerQuota GET /game-servers/quota
listOfferedEggs GET /eggs
findServerPlaces POST /game-servers/places
deleteGameServer DELETE! /game-servers/{slice}
listFiles GET /game-servers/{slice}/files
deleteFiles DELETE! /game-servers/{slice}/files
readFile GET /game-servers/{slice}/files/content
writeFile PUT /game-servers/{slice}/files/content
readUpload GET /game-servers/{slice}/files/upload
abortUpload DELETE! /game-servers/{slice}/files/upload
makeFileLink POST /game-servers/{slice}/files/links
makeUploadLink POST /game-servers/{slice}/files/upload/links
makeFolder POST! /game-servers/{slice}/files/folders
moveFiles POST! /game-servers/{slice}/files/move
copyFile POST! /game-servers/{slice}/files/copy
archiveFiles POST! /game-servers/{slice}/files/archive
unpackFile POST! /game-servers/{slice}/files/unpack
pullFile POST! /game-servers/{slice}/files/pull
setFileModes POST! /game-servers/{slice}/files/mode
searchFiles GET /game-servers/{slice}/files/search
measureFiles GET /game-servers/{slice}/files/usage
listDeletedFiles GET /game-servers/{slice}/files/bin
emptyBin DELETE! /game-servers/{slice}/files/bin
restoreFiles POST! /game-servers/{slice}/files/bin/restore
listFileJobs GET /game-servers/{slice}/files/jobs
cancelFileJob DELETE! /game-servers/{slice}/files/jobs/{job}
listServerPeople GET /game-servers/{slice}/people
inviteToServer POST! /game-servers/{slice}/people
setServerRights PUT /game-servers/{slice}/people/{person}
removeFromServer DELETE! /game-servers/{slice}/people/{person}
withdrawServerInvitation DELETE! /game-servers/{slice}/invitations/{invitation}
listServerActivity GET /game-servers/{slice}/activity
readServerSftp GET /game-servers/{slice}/sftp
listServerPorts GET /game-servers/{slice}/ports
addServerPort POST! /game-servers/{slice}/ports
setServerPort PUT /game-servers/{slice}/ports/{address}/{port}
removeServerPort DELETE! /game-servers/{slice}/ports/{address}/{port}
choosePrimaryPort POST! /game-servers/{slice}/ports/{address}/{port}/primary
readServerSettings GET /game-servers/{slice}/settings
changeServerSettings PATCH /game-servers/{slice}/settings
readAttack GET /attacks/{attack}
cancelMitigations DELETE! /attacks/{attack}/mitigations
acceptTraffic POST! /attacks/{attack}/accept
forgetTraffic DELETE! /attacks/{attack}/accept
readCaller GET /caller`,
  portal: `signIn POST /sign-in
beginPasskeySignIn POST /sign-in/passkey/options
signInWithPasskey POST /sign-in/passkey
readLink POST /links/read
acceptLink POST /links/accept
readSession GET /session
signOut DELETE /session
readAccount GET /account
listSessions GET /account/sessions
endSession DELETE /account/sessions/{session}
renameAccount PUT /account/name
changePassword PUT /account/password
beginTotp POST /account/totp
confirmTotp PUT /account/totp
removeTotp DELETE /account/totp
renewRecoveryCodes POST /account/recovery-codes
beginPasskey POST /account/passkeys/options
addPasskey POST /account/passkeys
deletePasskey DELETE /account/passkeys/{passkey}
readSftpAccess GET /account/sftp
addSshKey POST /account/ssh-keys
deleteSshKey DELETE /account/ssh-keys/{ssh_key}
makeSftpPassword POST /account/sftp-passwords
deleteSftpPassword DELETE /account/sftp-passwords/{sftp_password}
listMembers GET /organisations/{organisation}/members
changeMember PUT /organisations/{organisation}/members/{member}
removeMember DELETE /organisations/{organisation}/members/{member}
inviteMember POST /organisations/{organisation}/invitations
withdrawInvitation DELETE /organisations/{organisation}/invitations/{invitation}
renameOrganisation PUT /organisations/{organisation}/name
listPeople GET /operator/people
changePerson PUT /operator/people/{person}
createResetLink POST /operator/people/{person}/reset
invitePerson POST /operator/invitations
listLinks GET /operator/links
withdrawLink DELETE /operator/links/{link}
actFor PUT /operator/acting
stopActing DELETE /operator/acting
listNotedAddresses GET /organisations/{organisation}/firewall/notes
listRuleNotes GET /organisations/{organisation}/firewall/ips/{ip}/notes
saveRuleNote PUT /organisations/{organisation}/firewall/rules/{rule}/note
readHistory GET /organisations/{organisation}/firewall/ips/{ip}/history
undoChange POST /organisations/{organisation}/firewall/ips/{ip}/undo
restoreAddress POST /organisations/{organisation}/firewall/ips/{ip}/restore
listGroups GET /organisations/{organisation}/groups
createGroup POST /organisations/{organisation}/groups
saveGroup PUT /organisations/{organisation}/groups/{group}
deleteGroup DELETE /organisations/{organisation}/groups/{group}
previewNewGroup POST /organisations/{organisation}/groups/preview
previewGroup POST /organisations/{organisation}/groups/{group}/preview
listGeoRules GET /organisations/{organisation}/geo-rules
createGeoRule POST /organisations/{organisation}/geo-rules
saveGeoRule PUT /organisations/{organisation}/geo-rules/{geo_rule}
deleteGeoRule DELETE /organisations/{organisation}/geo-rules/{geo_rule}
listKeys GET /organisations/{organisation}/keys
createKey POST /organisations/{organisation}/keys
revokeKey DELETE /organisations/{organisation}/keys/{key}
joinFleet POST /agents/join
readAgentState POST /agents/state
listWebhooks GET /organisations/{organisation}/webhooks
createWebhook POST /organisations/{organisation}/webhooks
saveWebhook PUT /organisations/{organisation}/webhooks/{webhook}
deleteWebhook DELETE /organisations/{organisation}/webhooks/{webhook}
rotateWebhookSecret POST /organisations/{organisation}/webhooks/{webhook}/secret
testWebhook POST /organisations/{organisation}/webhooks/{webhook}/test
listWebhookDeliveries GET /organisations/{organisation}/webhooks/{webhook}/deliveries
redeliver POST /organisations/{organisation}/webhooks/{webhook}/deliveries/{delivery}/redeliver`,
  operator: `suggestThresholds GET /organisations/{slug}/threshold-suggestions
listEggs GET /eggs
readEgg POST! /eggs/read
listImages GET /images
makeImage POST! /nodes/{name}/images/{image}
createServer POST! /game-servers
listServers GET /game-servers
readServerEgg GET /game-servers/{uuid}/egg
suspendServer POST! /game-servers/{uuid}/suspend
unsuspendServer POST! /game-servers/{uuid}/unsuspend
reinstallServer POST! /game-servers/{uuid}/reinstall
listDeletedServers GET /deleted-servers
restoreServer POST! /deleted-servers/{uuid}/restore
purgeServer POST! /deleted-servers/{uuid}/purge
readFleetHealth GET /fleet
readEnforceCommand GET /fleet/enforce-command
createJoinCommand POST! /fleet/{kind}/{name}/join
approveHosts POST! /fleet/{kind}/{name}/approve
readAuditTrail GET /audit
listOrganisations GET /organisations
readOrganisation GET /organisations/{slug}
saveOrganisation PUT /organisations/{slug}
changeOrganisation PATCH /organisations/{slug}
removeOrganisation DELETE! /organisations/{slug}
listAsns GET /asns
readAsn GET /asns/{asn}
saveAsn PUT /asns/{asn}
changeAsn PATCH /asns/{asn}
removeAsn DELETE! /asns/{asn}
listServices GET /organisations/{organisation}/services
readService GET /organisations/{organisation}/services/{id}
saveService PUT /organisations/{organisation}/services/{id}
changeService PATCH /organisations/{organisation}/services/{id}
removeService DELETE! /organisations/{organisation}/services/{id}
listHoldings GET /organisations/{organisation}/holdings
createHolding POST! /organisations/{organisation}/holdings
readHolding GET /organisations/{organisation}/holdings/{id}
saveHolding PUT /organisations/{organisation}/holdings/{id}
changeHolding PATCH /organisations/{organisation}/holdings/{id}
removeHolding DELETE! /organisations/{organisation}/holdings/{id}
listOrganisationKeys GET /organisations/{organisation}/keys
createOrganisationKey POST! /organisations/{organisation}/keys
readOrganisationKey GET /organisations/{organisation}/keys/{id}
saveOrganisationKey PUT /organisations/{organisation}/keys/{id}
changeOrganisationKey PATCH /organisations/{organisation}/keys/{id}
removeOrganisationKey DELETE! /organisations/{organisation}/keys/{id}
listFirewallGroups GET /organisations/{organisation}/groups
readFirewallGroup GET /organisations/{organisation}/groups/{name}
saveFirewallGroup PUT /organisations/{organisation}/groups/{name}
changeFirewallGroup PATCH /organisations/{organisation}/groups/{name}
removeFirewallGroup DELETE! /organisations/{organisation}/groups/{name}
listFirewallGeoRules GET /organisations/{organisation}/geo-rules
createFirewallGeoRule POST! /organisations/{organisation}/geo-rules
readFirewallGeoRule GET /organisations/{organisation}/geo-rules/{id}
saveFirewallGeoRule PUT /organisations/{organisation}/geo-rules/{id}
changeFirewallGeoRule PATCH /organisations/{organisation}/geo-rules/{id}
removeFirewallGeoRule DELETE! /organisations/{organisation}/geo-rules/{id}
listBlockedLists GET /organisations/{organisation}/blocked
readBlockedList GET /organisations/{organisation}/blocked/{target}
saveBlockedList PUT /organisations/{organisation}/blocked/{target}
changeBlockedList PATCH /organisations/{organisation}/blocked/{target}
removeBlockedList DELETE! /organisations/{organisation}/blocked/{target}
listNodes GET /nodes
readNode GET /nodes/{name}
saveNode PUT /nodes/{name}
changeNode PATCH /nodes/{name}
removeNode DELETE! /nodes/{name}
listBaselines GET /baseline
readBaseline GET /baseline/{prefix}
saveBaseline PUT /baseline/{prefix}
changeBaseline PATCH /baseline/{prefix}
removeBaseline DELETE! /baseline/{prefix}
listEdges GET /edges
readEdge GET /edges/{name}
saveEdge PUT /edges/{name}
changeEdge PATCH /edges/{name}
removeEdge DELETE! /edges/{name}
listCollectors GET /collectors
readCollector GET /collectors/{name}
saveCollector PUT /collectors/{name}
changeCollector PATCH /collectors/{name}
removeCollector DELETE! /collectors/{name}
listResponders GET /responders
readResponder GET /responders/{name}
saveResponder PUT /responders/{name}
changeResponder PATCH /responders/{name}
removeResponder DELETE! /responders/{name}
listLibraryEggs GET /library
readLibraryEgg GET /library/{name}
saveLibraryEgg PUT /library/{name}
changeLibraryEgg PATCH /library/{name}
removeLibraryEgg DELETE! /library/{name}
readServer GET /game-servers/{uuid}
saveServer PUT /game-servers/{uuid}
changeServer PATCH /game-servers/{uuid}
removeServer DELETE! /game-servers/{uuid}`,
} as const;
