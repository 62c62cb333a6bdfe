import { useQuery } from '@tanstack/react-query';
import { messages } from '../messages/index.ts';
import { personClient, useSession } from '../session/session.ts';
import { CommandBlock } from './CommandBlock.tsx';

const text = messages.enforce;

/** How enforcement is started: to an operator the command, to all others who does it. */
export default function EnforceCommand() {
  const { person } = useSession();
  const isOperator = person?.operator === true;
  const command = useQuery({
    queryKey: ['operator', 'enforce-command'],
    enabled: isOperator,
    queryFn: async ({ signal }) => (await personClient.readEnforceCommand({}, { signal })).data,
  });
  if (!isOperator) return text.byOperator;
  if (command.data === undefined) return null;
  if (command.data.command === null) return text.onHost;
  return (
    <>
      {text.byCommand}
      <CommandBlock commands={[command.data.command]} />
    </>
  );
}
