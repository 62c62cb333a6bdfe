import { decideConfig } from './config/config.ts';
import { createLogger } from './log.ts';
import { EXIT_CONFIG, runControl } from './composition/process.ts';

/** The control process: configuration from the environment, log on standard error. */
const config = decideConfig(process.env, { isRoot: process.getuid?.() === 0 });
if (config.ok) {
  const code = await runControl(config.value, createLogger({ level: config.value.logLevel }));
  process.exit(code);
} else {
  for (const line of config.reason.split('\n')) {
    process.stderr.write(`portcullis control: ${line}\n`);
  }
  process.exitCode = EXIT_CONFIG;
}
