import { Combobox, Modal, TextInput, useCombobox } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { useAddresses } from '../areas/addresses/queries.ts';
import { useAreas } from '../areas/index.ts';
import { useServers } from '../areas/servers/queries.ts';
import { messages } from '../messages/index.ts';
import { useSession } from '../session/session.ts';

const text = messages.palette;
const MAX_SHOWN = 8;

interface Command {
  readonly id: string;
  readonly title: string;
  readonly note: string;
  run(): unknown;
}

/** Goes to any address, game server or area, or does what the page can do, by typing a part of its name. */
export default function Palette({ onClose, onHelp }: { onClose(): void; onHelp(): void }) {
  const [typed, setTyped] = useState('');
  const combobox = useCombobox({ opened: true });
  const found = useCommands(typed.trim().toLowerCase(), onHelp);
  const { selectFirstOption } = combobox;
  const ids = found.map(({ id }) => id).join(' ');
  // Again when the lists come in that are searched: they may be read only after a name was typed.
  useEffect(() => void selectFirstOption(), [typed, ids, selectFirstOption]);
  const run = (id: string): void => {
    onClose();
    found.find((command) => command.id === id)?.run();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      aria-label={text.title}
      yOffset="12vh"
    >
      <Combobox store={combobox} onOptionSubmit={run}>
        <Combobox.EventsTarget>
          <TextInput
            data-autofocus
            size="md"
            variant="unstyled"
            px="md"
            py={6}
            aria-label={text.title}
            placeholder={text.placeholder}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            leftSection={<Search size={16} aria-hidden="true" />}
          />
        </Combobox.EventsTarget>
        <Combobox.Options p={6}>
          {found.map(({ id, title, note }) => (
            <Combobox.Option key={id} value={id}>
              <span className="row">
                {title}
                <span className="row-end dim">{note}</span>
              </span>
            </Combobox.Option>
          ))}
          {found.length === 0 && <Combobox.Empty>{text.none}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox>
    </Modal>
  );
}

function useCommands(wanted: string, onHelp: () => void): Command[] {
  const navigate = useNavigate();
  const { signOut, organisation } = useSession();
  const areas = useAreas();
  const { data } = useAddresses();
  // The key of somebody who signed in with one may not read servers.
  const servers = useServers({ enabled: organisation !== null }).data ?? [];
  const visit = (ip: string) => () => navigate({ to: '/addresses/$ip', params: { ip } });
  const known = (data?.addresses ?? [])
    .filter(({ ip }) => wanted !== '' && ip.includes(wanted))
    .slice(0, MAX_SHOWN)
    .map(({ ip }): Command => ({ id: ip, title: ip, note: text.address, run: visit(ip) }));
  const other =
    parseAddress(wanted).ok && known.length === 0
      ? [{ id: wanted, title: wanted, note: text.open, run: visit(wanted) }]
      : [];
  const named = servers
    .filter(({ name }) => wanted !== '' && name.toLowerCase().includes(wanted))
    .slice(0, MAX_SHOWN)
    .map(({ uuid, name }): Command => {
      const run = () => navigate({ to: '/servers/$uuid', params: { uuid } });
      return { id: uuid, title: name, note: text.server, run };
    });
  const commands: Command[] = [
    ...areas.map(({ path, title }) => ({
      id: path,
      title,
      note: text.area,
      run: () => navigate({ to: path }),
    })),
    { id: 'keys', title: messages.shell.keys, note: text.command, run: onHelp },
    { id: 'out', title: messages.shell.signOut, note: text.command, run: () => signOut() },
  ];
  return [
    ...known,
    ...other,
    ...named,
    ...commands.filter(({ title }) => title.toLowerCase().includes(wanted)),
  ];
}
