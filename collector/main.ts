import { createLineLog, readLogLevel } from '@portcullis/agent/log.ts';
import { renewCredentials } from '@portcullis/agent/renewal.ts';
import { describeError } from '@portcullis/core/log.ts';
import { whenSupervisorGone } from '@portcullis/link/supervisor.ts';
import { connectControl } from '@portcullis/link/transport/connect.ts';
import { CollectorAgent } from './agent.ts';
import { readConfig } from './config.ts';

/** The collector process. It needs no privileges and no files, and stops on SIGTERM or when its supervisor exits. */
const { config, log } = readEverything();
const link = await connectControl({
  path: config.linkPath,
  agent: { kind: 'collector', name: config.name },
  credential: config.credential,
}).catch(giveUp);
renewCredentials(link, log);
const agent = new CollectorAgent({ link, log });
agent.start();
log.info({}, 'started');
if (process.connected) process.send?.({ kind: 'ready', facts: {} });

function readEverything() {
  try {
    const level = readLogLevel(process.env);
    const write = (line: string): void => void process.stderr.write(line);
    return {
      config: readConfig(process.env),
      log: createLineLog('collector', write, level, process.stderr.isTTY),
    };
  } catch (error) {
    return giveUp(error);
  }
}

/** Prints one line: a stack does not help the operator. */
function giveUp(error: unknown): never {
  process.stderr.write(`portcullis collector: ${describeError(error)}\n`);
  process.exit(1);
}

let stopping = false;
async function stop(why: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  log.info({ why }, 'stopping');
  await agent.stop();
  process.exit(0);
}
process.once('SIGINT', () => void stop('SIGINT'));
process.once('SIGTERM', () => void stop('SIGTERM'));
whenSupervisorGone(() => void stop('its supervisor exited'));
