import { decideConfig } from '@portcullis/control/config/config.ts';
import { type ControlEnvironment, readEnvironment } from '@portcullis/control/config/env.ts';
import type { ControlConfig } from '@portcullis/control/config/config.ts';
import { usageError } from '../exit.ts';
import type { ControlOptions } from '../program/up.ts';

/** How an option is called in the environment of control, which the option overrides. */
export const VARIABLES = {
  data: 'PORTCULLIS_DATA',
  listen: 'PORTCULLIS_LISTEN',
  metricsListen: 'PORTCULLIS_METRICS_LISTEN',
  publicUrl: 'PORTCULLIS_PUBLIC_URL',
  trustedProxy: 'PORTCULLIS_TRUSTED_PROXY',
  tlsCert: 'PORTCULLIS_TLS_CERT',
  tlsKey: 'PORTCULLIS_TLS_KEY',
  logLevel: 'PORTCULLIS_LOG_LEVEL',
} as const satisfies Readonly<Record<keyof ControlOptions, keyof NodeJS.ProcessEnv>>;

/** What control is told by the command line, else by the environment. Throws in the words of the options. */
export function controlConfig(options: ControlOptions): ControlConfig {
  const environment: ControlEnvironment = readEnvironment(controlEnvironment(options));
  const decided = decideConfig(environment, { isRoot: process.getuid?.() === 0 });
  if (!decided.ok) throw usageError(inOptionWords(decided.reason));
  return decided.value;
}

/** The environment of a control process that is to be what these options say. */
export function controlEnvironment(options: ControlOptions): NodeJS.ProcessEnv {
  const given = Object.entries(VARIABLES).flatMap(([option, variable]) => {
    const value = options[option as keyof ControlOptions];
    return value === undefined ? [] : [[variable, value]];
  });
  return { ...process.env, ...Object.fromEntries(given) };
}

function inOptionWords(reason: string): string {
  return Object.entries(VARIABLES).reduce(
    (text, [option, variable]) =>
      text.replaceAll(
        variable,
        `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      ),
    reason,
  );
}

/** `portcullis control`: until a signal stops it. */
export async function runControlCommand(options: ControlOptions): Promise<void> {
  const config = controlConfig(options);
  const [{ createLogger }, { runControl }] = await Promise.all([
    import('@portcullis/control/log.ts'),
    import('@portcullis/control/process.ts'),
  ]);
  const code = await runControl(config, createLogger({ level: config.logLevel }));
  // It has said why; nothing may keep a stopped control plane alive.
  process.exit(code);
}
