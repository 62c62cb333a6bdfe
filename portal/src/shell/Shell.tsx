import { ActionIcon, Button } from '@mantine/core';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { Menu, X } from 'lucide-react';
import { lazy, Suspense, useCallback, useState } from 'react';
import { isOfOrganisation, useAreas } from '../areas/index.ts';
import { Notice } from '../components/Notice.tsx';
import { messages } from '../messages/index.ts';
import { useSession } from '../session/session.ts';
import { Sidebar } from './Sidebar.tsx';
import { useKeys } from './use-keys.ts';
import { useLive } from './use-live.ts';

const Palette = lazy(() => import('./Palette.tsx'));
const ActForm = lazy(() => import('./ActForm.tsx'));
const KeysHelp = lazy(() => import('./KeysHelp.tsx'));

const text = messages.shell;

/** The frame that surrounds every page: navigation, the command palette, keys. */
export function Shell() {
  const [overlay, setOverlay] = useState<'palette' | 'help' | null>(null);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const navigate = useNavigate();
  const areas = useAreas();
  const openPalette = useCallback(() => setOverlay('palette'), []);
  const openHelp = useCallback(() => setOverlay('help'), []);
  const close = useCallback(() => setOverlay(null), []);
  const go = useCallback(
    (letter: string) => {
      const area = areas.find((each) => each.letter === letter);
      if (area !== undefined) void navigate({ to: area.path });
    },
    [navigate, areas],
  );
  const { isLost } = useLive();
  useKeys({ isCovered: overlay !== null, openPalette, openHelp, go });
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {text.skip}
      </a>
      <header className="top">
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={isMenuOpen ? text.closeMenu : text.openMenu}
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          {isMenuOpen ? <X size={20} /> : <Menu size={20} />}
        </ActionIcon>
        <Link className="brand" to="/">
          <img src="/favicon.svg" alt="" />
          {messages.product}
        </Link>
      </header>
      <Sidebar
        isOpen={isMenuOpen}
        onPalette={openPalette}
        onHelp={openHelp}
        onVisit={() => setMenuOpen(false)}
      />
      <div className="main">
        <main id="content" className="page" tabIndex={-1}>
          {isLost && (
            <Notice kind="warn">
              <strong>{text.reconnecting}</strong> {text.reconnectingHint}
            </Notice>
          )}
          <Content />
        </main>
      </div>
      <Suspense>
        {overlay === 'palette' && <Palette onClose={close} onHelp={openHelp} />}
        {overlay === 'help' && <KeysHelp onClose={close} />}
      </Suspense>
    </div>
  );
}

/** The page, with a mark while an operator acts for the organisation that it shows. */
function Content() {
  const { person, organisation, actFor } = useSession();
  const { pathname } = useLocation();
  const isOwn = pathname !== '/' && isOfOrganisation(pathname);
  if (isOwn && person !== null && organisation === null) {
    return (
      <Suspense>
        <ActForm />
      </Suspense>
    );
  }
  const isActing = isOwn && organisation !== null && person?.acting_for === organisation;
  return (
    <>
      {isActing && (
        <div className="notice warn acting" role="status">
          <span>{text.actingBar(organisation)}</span>
          <Button variant="default" size="compact-sm" onClick={() => void actFor(null)}>
            {text.stopActing(organisation)}
          </Button>
        </div>
      )}
      <Outlet />
    </>
  );
}
