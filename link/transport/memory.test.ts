import { createMemoryLink, type MemoryLink } from './memory.ts';
import { transportSuite } from '../testing/transport-suite.ts';

transportSuite('memory', async () => {
  // Tests start and stop control themselves, so the first one is closed.
  const link: MemoryLink = createMemoryLink(async () => ({ kind: 'done' }));
  await link.control.close();
  return {
    serve: async (handler, admit) => link.serve(handler, admit),
    connect: (agent, credential) => link.connect(agent, credential),
    end: async () => {},
  };
});
