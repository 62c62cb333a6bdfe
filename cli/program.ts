import { addCompletion } from '@portcullis/caller/commands/completion.ts';
import { CALLER_COMMANDS } from '@portcullis/caller/groups.ts';
import type { Program } from '@portcullis/caller/program.ts';
import { addBackup, addRestore } from './commands/backup.ts';
import { addCertificate } from './commands/certificate.ts';
import { addCollector } from './commands/collector/collector.ts';
import { addCollectors } from './commands/collectors.ts';
import { addControl } from './commands/control.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEdge } from './commands/edge/edge.ts';
import { addEdges } from './commands/edges.ts';
import { addFleet } from './commands/fleet.ts';
import { addImages } from './commands/images.ts';
import { addKeys } from './commands/keys.ts';
import { addNats } from './commands/nats.ts';
import { addNode } from './commands/node.ts';
import { addNodes } from './commands/nodes.ts';
import { addPortal } from './commands/portal.ts';
import { addSetup } from './commands/setup.ts';
import { addService } from './commands/service.ts';
import { addTokens } from './commands/tokens.ts';
import { addThresholds } from './commands/thresholds.ts';
import { addUp } from './commands/up.ts';
import manifest from './package.json' with { type: 'json' };

const GROUPS = {
  'Run it:': [addSetup, addUp, addControl, addEdge, addNode, addCollector, addImages],
  'For operators, on the database:': [
    addFleet,
    addPortal,
    addKeys,
    addEdges,
    addNodes,
    addCollectors,
    addCertificate,
    addNats,
    addTokens,
    addThresholds,
    addBackup,
    addRestore,
  ],
  'For callers, with an API key:': CALLER_COMMANDS,
  'Other:': [addService, addDoctor, addCompletion],
} as const;

/** The whole command: that of operators and callers, and what runs the platform. */
export const PROGRAM: Program = {
  description: 'Self-hosted network protection and game-server control.',
  version: manifest.version,
  groups: GROUPS,
};
