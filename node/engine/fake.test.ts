import { describe } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import { FakeEngine, type StartProgram } from './fake.ts';
import { engineSuite } from './suite.ts';

/** The `GAME` of the suite. */
const game: StartProgram = ({ spec, output, exit }) => {
  output(`ready ${spec.env['GREETING']}\n`);
  return {
    input: (line) => {
      const [verb, ...rest] = line.split(' ');
      const argument = rest.join(' ');
      if (verb === 'say') output(`said ${argument}\n`);
      if (verb === 'exit') exit(Number(argument));
      if (verb === 'flood')
        for (let number = 1; number <= Number(argument); number += 1) output(`${number}\n`);
    },
    signal: (signal) => {
      if (signal !== 'SIGTERM') return;
      output('saving\n');
      exit(0);
    },
  };
};

describe('the fake engine', () => {
  let lastPort = 20_000;
  const engine = new FakeEngine();
  engine.program = game;
  engineSuite(() => ({
    engine,
    again: () => new FakeEngine(engine),
    freePort: () => ({ ip: '192.0.2.1', port: (lastPort += 1) }),
    spec: (uuid) => ({
      uuid,
      organisation: 'acme',
      image: { reference: 'game:1', local: false },
      command: null,
      fallbackCommand: null,
      env: {},
      folder: '/nowhere',
      mounts: [],
      limits: { ...UNLIMITED, memory: 64, cpu: 100, disk: 64 },
      pidsLimit: 64,
      capabilities: [],
      ports: [],
    }),
  }));
});
