// What a browser remembers; where it must not remember anything, the page works all the same until it is closed.
function shelf(name) {
  const spare = new Map();
  const real = () => { try { return window[name]; } catch { return null; } };
  return {
    get(key) { try { return real().getItem(key); } catch { return spare.get(key) ?? null; } },
    set(key, value) { try { real().setItem(key, value); } catch { spare.set(key, value); } },
  };
}

export const always = shelf("localStorage"), session = shelf("sessionStorage");
