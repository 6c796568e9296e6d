// Nothing on a page or around it moves, asks or reports by itself.
pref("accessibility.force_disabled", -1);
pref("app.normandy.enabled", false);
pref("browser.aboutwelcome.enabled", false);
pref("browser.bookmarks.restore_default_bookmarks", false);
pref("browser.newtabpage.enabled", false);
pref("browser.preonboarding.enabled", false);
pref("browser.region.network.url", "");
pref("browser.safebrowsing.malware.enabled", false);
pref("browser.safebrowsing.phishing.enabled", false);
pref("browser.sessionstore.resume_from_crash", false);
pref("browser.shell.checkDefaultBrowser", false);
pref("browser.startup.homepage_override.mstone", "ignore");
pref("browser.startup.page", 1);
pref("browser.startup.homepage", "about:blank");
pref("browser.tabs.warnOnClose", false);
pref("browser.urlbar.suggest.topsites", false);
pref("browser.warnOnQuit", false);
pref("datareporting.policy.dataSubmissionEnabled", false);
pref("dom.push.connection.enabled", false);
pref("extensions.getAddons.cache.enabled", false);
pref("extensions.update.enabled", false);
pref("media.gmp-manager.updateEnabled", false);
pref("network.connectivity-service.enabled", false);
// The sites of an episode answer http:, and their https: has a certificate of their own.
pref("dom.security.https_first", false);
// Its databases would have ten megabytes from the start, which every kept state would hold.
pref("places.database.growthIncrementKiB", 64);
pref("security.sandbox.content.level", 1);
// Honoured with MOZ_REMOTE_SETTINGS_DEVTOOLS, see the recipe.
pref("services.settings.server", "data:,#remote-settings-dummy/v1");
pref("sidebar.revamp", false);
pref("termsofuse.bypassNotification", true);
pref("toolkit.cosmeticAnimations.enabled", false);
pref("toolkit.telemetry.reportingpolicy.firstRun", false);
pref("ui.caretBlinkTime", 0);
pref("ui.prefersReducedMotion", 1);
