import { useSession } from '../../session/session.ts';

/** Takes back changes of an address: of a person as the history does, with notes; of an API key, which has none, by the reverse. */
export function useUndo(ip: string) {
  const { people } = useSession();
  return (generations: readonly (number | null)[], reverse: () => Promise<unknown>) =>
    async (): Promise<void> => {
      if (people === null) await reverse();
      for (const generation of generations) {
        if (generation !== null) await people?.undoChange({ ip, body: { generation } });
      }
    };
}
